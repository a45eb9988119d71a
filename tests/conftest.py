"""Fixtures for every suite."""

import resource
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
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
