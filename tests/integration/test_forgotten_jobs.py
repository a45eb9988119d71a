"""A job store apart from the places that forgets: what it was to do is done all the same, and nothing twice."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from redis import Redis

from support.places import page, writing
from support.servers.redis import answers, command
from support.servers.sharing import free_port
from support.stores import BACKENDS, Backend, open_backend
from support.waiting import until
from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.sources import open_source
from waypost.importing.base import BaseSource
from waypost.importing.imports import Import
from waypost.importing.pages import PageStore
from waypost.importing.plan import plan_import
from waypost.importing.reminding import remind, remind_imports
from waypost.importing.schedules import WindowsSchedule
from waypost.importing.source import Page, Scope
from waypost.importing.started_imports import standing_of
from waypost.kernel.clock import utc_now
from waypost.kernel.stopping import Stop
from waypost.places.licence import Licence
from waypost.roles.kit.importer_assembly import make_importer
from waypost.scaling.jobs.job import Done, Lease, NewJob
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.schedules.coverage_book import CoverageBook
from waypost.scaling.schedules.scheduler import Scheduler

pytestmark = pytest.mark.anyio

HOURLY = WindowsSchedule("ocm", ("DE", "FR"), timedelta(hours=1))
HOUR = timedelta(hours=1)
NOON = datetime(2026, 2, 21, 12, 2, tzinfo=UTC)


@pytest.fixture
async def redis_url(tmp_path: Path) -> AsyncIterator[str]:
    """A Redis of this test's own, which it may flush."""
    port = free_port()
    server = await asyncio.create_subprocess_exec(*command(port, tmp_path), stdout=asyncio.subprocess.DEVNULL)
    try:
        await until(partial(asyncio.to_thread, answers, port))
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        await server.wait()


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path, redis_url: str) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path, {"jobs": redis_url}) as opened:
        yield opened


class EndsMeanwhile:
    """A page store that is slow: once it has said what is left, that is done."""

    def __init__(self, pages: PageStore, end: Callable[[], Awaitable[None]]) -> None:
        self._pages = pages
        self._end = end
        self._asked = 0

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:
        left = await self._pages.unfinished(shards)
        self._asked += 1
        if self._asked == 1:
            await self._end()
        return left


async def test_what_ends_while_it_is_looked_for_is_not_done_again(backend: Backend) -> None:
    stores, shard = backend.stores, "ocm/country:DE/full:2026-02-21"
    await stores.jobs.enqueue([NewJob(shard)], group="one")

    async def end() -> None:
        [lease] = await stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
        begun = await stores.pages.begin(lease)
        assert begun
        await stores.pages.commit(begun, page(1, last=True), writing())
        await stores.jobs.complete([Done(lease)])

    slow = cast(PageStore, EndsMeanwhile(stores.pages, end))
    await remind(stores.jobs, slow, [shard], group="one")
    assert (await stores.jobs.tally("one")).jobs == {"done": 1}


def flush(redis_url: str) -> None:
    with Redis.from_url(redis_url) as client:
        client.flushall()


class Clockwork:
    """A scheduler, and a clock that the test sets."""

    def __init__(self, backend: Backend) -> None:
        self.now = NOON
        stores = backend.stores
        self._book = CoverageBook(stores.facts)
        rng = random.Random(1)
        reminding = partial(remind, stores.jobs, stores.pages)
        self._scheduler = Scheduler({"hourly": HOURLY}, self._book, stores.jobs, self._clock, rng, reminding)

    async def _clock(self) -> datetime:
        return self.now

    async def look(self, at: datetime | None = None) -> None:
        self.now = at or self.now
        await self._scheduler.look()

    async def awaited(self) -> int:
        return len((await self._book.read("hourly")).coverage.awaited)


async def claim(backend: Backend, limit: int = 100) -> list[Lease]:
    return list(await backend.stores.jobs.claim("me", limit=limit, lease=30, max_vanished=5))


async def work(backend: Backend, lease: Lease) -> bool:
    """As an engine does; whether anything was asked of the provider."""
    begun = await backend.stores.pages.begin(lease)
    if begun:
        await backend.stores.pages.commit(begun, page(1, cursor=None, last=True), writing())
    assert await backend.stores.jobs.complete([Done(lease)]) == {lease.job_id}
    return begun is not None


async def work_on_all(backend: Backend) -> list[str]:
    """The shards that were asked for, until there is nothing left to do."""
    asked = []
    while leases := await claim(backend):
        asked += [lease.shard for lease in leases if await work(backend, lease)]
    return asked


def windows(*hours: int) -> list[str]:
    day = NOON.replace(hour=0, minute=0)
    return sorted(str(key) for hour in hours for key in HOURLY.keys(day + hour * HOUR, day + (hour + 1) * HOUR))


async def test_windows_of_a_flushed_job_store_are_done_in_the_end_once_each(backend: Backend, redis_url: str) -> None:
    clockwork = Clockwork(backend)
    await clockwork.look(NOON)
    done, half = await claim(backend)
    asked = [done.shard] if await work(backend, done) else []
    await backend.stores.pages.commit(half, page(1, cursor="after:1"), writing())
    flush(redis_url)
    for hours in range(3):
        await clockwork.look(NOON + hours * HOUR)
        asked += await work_on_all(backend)
    assert sorted(asked) == windows(11, 12, 13)
    await clockwork.look()
    assert await clockwork.awaited() == 0


async def test_windows_that_were_flushed_before_anybody_looked_again_are_not_lost(
    backend: Backend, redis_url: str
) -> None:
    clockwork = Clockwork(backend)
    for hours in range(2):
        await clockwork.look(NOON + hours * HOUR)
    flush(redis_url)
    await clockwork.look(NOON + 2 * HOUR)
    assert sorted(await work_on_all(backend)) == windows(11, 12, 13)


async def test_what_is_done_is_not_asked_for_again_after_a_flush(backend: Backend, redis_url: str) -> None:
    clockwork = Clockwork(backend)
    await clockwork.look()
    assert len(await work_on_all(backend)) == 2
    flush(redis_url)
    for _ in range(2):
        await clockwork.look()
        assert await work_on_all(backend) == []
        assert await backend.stores.jobs.list() == []


async def test_parts_of_a_shard_that_was_split_are_enqueued_again(backend: Backend, redis_url: str) -> None:
    clockwork = Clockwork(backend)
    await clockwork.look()
    split, other = await claim(backend)
    parts = (f"{split.shard}/ids:0..9", f"{split.shard}/ids:9..")
    await backend.stores.pages.commit(split, page(1, cursor="1"), writing(parts=parts))
    [one, _] = await claim(backend)
    await work(backend, one)
    flush(redis_url)
    await clockwork.look()
    assert sorted(await work_on_all(backend)) == sorted([*({*parts} - {one.shard}), other.shard])
    await clockwork.look()
    assert await clockwork.awaited() == 0


async def test_what_a_restored_place_store_has_lost_is_done_again(backend: Backend) -> None:
    clockwork = Clockwork(backend)
    await clockwork.look()
    # Done, says the job store; the places that went with it are gone.
    await backend.stores.jobs.complete([Done(lease) for lease in await claim(backend)])
    await clockwork.look()
    assert sorted(await work_on_all(backend)) == windows(11)


async def start(backend: Backend) -> str:
    """As `waypost import start` does."""
    started = Import("import-1", "ocm", Scope(("DE", "FR")), "running", utc_now())
    async with open_source("ocm", backend.settings) as source:
        shards = source.plan(started.scope, started.started_at.date(), started.id)
    await backend.stores.imports.start(started)
    await backend.stores.jobs.enqueue([NewJob(str(shard)) for shard in shards], group=started.id)
    return started.id


async def look_after_imports(backend: Backend) -> None:
    stores, opener = backend.stores, partial(open_source, settings=backend.settings)
    kept = backend.settings.jobs.retention
    await remind_imports(opener, stores.imports, stores.jobs, stores.pages, retention=kept)


@pytest.mark.parametrize("ready", [0, 1, 2])
async def test_an_import_that_was_started_before_a_flush_ends_done(
    backend: Backend, redis_url: str, ready: int
) -> None:
    import_id = await start(backend)
    asked = [lease.shard for lease in await claim(backend, ready) if await work(backend, lease)] if ready else []
    flush(redis_url)
    assert (await standing_of(backend.stores.imports, backend.stores.jobs, import_id)).status == "running"
    await look_after_imports(backend)
    asked += await work_on_all(backend)
    await look_after_imports(backend)
    assert len(set(asked)) == len(asked) == 2
    assert (await standing_of(backend.stores.imports, backend.stores.jobs, import_id)).status == "done"


async def test_an_import_that_was_cancelled_is_not_brought_back(backend: Backend, redis_url: str) -> None:
    import_id = await start(backend)
    await backend.stores.imports.finish(import_id, "cancelled")
    flush(redis_url)
    await look_after_imports(backend)
    assert await backend.stores.jobs.list() == []


class Unlucky(BaseSource):
    """While it is asked for the first time, all jobs are forgotten."""

    name, provider, licence = "ocm", "told", Licence("none", "nobody")
    plans = frozenset({"country"})

    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        self.asked: list[str] = []

    @property
    def budget_key(self) -> None:
        return None

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        if not self.asked:
            flush(self._redis_url)
        self.asked.append(str(shard))
        return page(len(self.asked), cursor=None, last=True)


async def test_an_import_that_runs_through_a_flush_brings_all_and_ends_done(tmp_path: Path, redis_url: str) -> None:
    async with open_backend("sqlite", tmp_path, {"jobs": redis_url, "jobs.concurrency": "1"}) as backend:
        source = Unlucky(redis_url)
        planned = plan_import(source, Scope(("DE", "FR", "NL")), import_id="import-1", now=utc_now())
        async with open_budget(backend.settings) as budget:
            importer = make_importer(backend.settings, backend.stores, source, budget, owner="me")
            report = await importer.run(planned, Stop(), lambda _progress: None)
        assert len(set(source.asked)) == len(source.asked) == 3
        assert await backend.stores.places.count() == 3
        assert (await standing_of(backend.stores.imports, backend.stores.jobs, report.id)).status == "done"
