"""Fixtures for every suite."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.job_stores import JOB_STORES, JobBackend
from support.processes import Processes
from support.stores import BACKENDS, Backend, open_backend


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
