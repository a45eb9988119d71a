"""Fixtures for every suite."""

import compileall
import logging
import os
import resource
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import util
from pathlib import Path
from tempfile import TemporaryDirectory

import certifi
import pytest
import structlog
from asyncpg.connect_utils import TLSUpgradeProto
from hypothesis import settings

from support.job_backend import JobBackend
from support.job_stores import JOB_STORES
from support.processes import Processes
from support.stores import BACKENDS, Backend, open_backend

# A busy machine is no reason for a property to fail.
settings.register_profile("waypost", deadline=None)
settings.load_profile("waypost")


# FastAPI remembers the routes of many apps, and they the files of the snapshots that they served: 1,024 are too few.
_, _MOST_FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, _MOST_FILES))

# httpx asks for it several times a request, and Python looks for it each time anew until it is told that it is missing.
if not util.find_spec("sniffio"):
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# As ours are shown: structlog's own way takes a second or more for each exception, with all variables and in colours.
_SHOWN = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _SHOWN])


def pytest_configure(config: pytest.Config) -> None:
    """Once a run, what hundreds of processes and thousands of clients would otherwise do again and again."""
    if not hasattr(config, "workerinput"):
        # As pip does with packages: whoever sets PYTHONDONTWRITEBYTECODE has Waypost compiled by each of its processes.
        compileall.compile_dir(config.rootpath / "src", quiet=2)
        _trust_one_authority(config)


def _trust_one_authority(config: pytest.Config) -> None:
    """Each HTTP client reads all of them before its first request, and no test asks anybody whom they have signed."""
    folder = TemporaryDirectory(prefix="waypost-authority-")
    config.add_cleanup(folder.cleanup)
    path = Path(folder.name) / "authority.pem"
    path.write_text("".join(certifi.contents().partition("-----END CERTIFICATE-----")[:2]) + "\n", encoding="ascii")
    os.environ["SSL_CERT_FILE"] = str(path)


@pytest.fixture(autouse=True, scope="session")
def _futures_that_a_driver_forgets() -> Iterator[None]:
    """PostgreSQL's driver asks for TLS first. If it is told to stop just then, nobody reads that the connection was
    lost, and asyncio takes that for a defect.
    """
    lost = TLSUpgradeProto.connection_lost

    def connection_lost(self: TLSUpgradeProto, error: Exception | None) -> None:
        lost(self, error)
        if not self.on_data.cancelled():
            self.on_data.exception()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TLSUpgradeProto, "connection_lost", connection_lost)
        yield


@pytest.fixture(autouse=True)
def _logs_as_they_were() -> Iterator[None]:
    """A test that calls a command in its own process leaves logs as that command has them."""
    root = logging.getLogger()
    before, level, configuration = list(root.handlers), root.level, structlog.get_config()
    yield
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**configuration)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=JOB_STORES)
async def job_backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobBackend]:
    async with JOB_STORES[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Starts `waypost` in a folder of the test's own, and ends what is still running at the end."""
    with Processes(tmp_path) as started:
        yield started
