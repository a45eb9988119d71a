"""One shard that a provider cannot answer goes dead, soon, while the others are read; in the end it is left alone."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.places import fetched
from support.stores import open_backend
from waypost.importing.base import BaseSource
from waypost.importing.engine import Engine
from waypost.importing.source import Page, ProviderAway, ProviderUnavailable
from waypost.kernel.clock import monotonic
from waypost.places.licence import Licence
from waypost.scaling.jobs.job import Held, NewJob
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.worker import Worker
from waypost.scaling.ratelimit.budget import Advice

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR", "NL")]


class Broken(BaseSource):
    """Answers everything but France."""

    name = "ocm"
    provider = "told"
    licence = Licence("none", "nobody")

    def __init__(self) -> None:
        self.checks = 0
        self.asked = 0

    async def check(self) -> None:
        self.checks += 1

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        if shard["country"] == "FR":
            self.asked += 1
            raise ProviderUnavailable("500")
        return Page((fetched(len(shard["country"])),), (), "end", last=True)


class Free:
    """Lets everybody ask, and remembers for how long it was told to let nobody."""

    def __init__(self) -> None:
        self.advice: list[Advice] = []

    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        return monotonic() + 1

    async def penalise(self, key: str, retry_after: float | None) -> float:
        return 0.0

    async def advise(self, key: str, advice: Advice) -> None:
        self.advice.append(advice)

    def succeeded(self, key: str) -> None: ...

    async def look(self, key: str) -> object: ...


class AtOnce(random.Random):
    def uniform(self, a: float, b: float) -> float:
        return 0.0


@pytest.mark.parametrize("shards", [SHARDS, SHARDS[1:2]])
async def test_it_goes_dead_after_its_attempts_and_stops_nobody(tmp_path: Path, shards: list[str]) -> None:
    source, budget = Broken(), Free()
    async with open_backend("sqlite", tmp_path) as backend:
        stores, settings = backend.stores, backend.settings.importing
        engine = Engine(source, stores.pages, stores.imports, budget, settings=settings, max_wait=1)  # type: ignore[arg-type]
        engine._outage._rng = AtOnce()

        @asynccontextmanager
        async def open_store() -> AsyncIterator[JobStore]:
            yield stores.jobs

        await stores.jobs.enqueue([NewJob(shard) for shard in shards], group="one")
        with Renewer(open_store, 30) as renewer:
            jobs = JobsSettings(lease=30, concurrency=2, max_attempts=3, store_patience=1)
            await Worker(stores.jobs, renewer, engine.work, owner="me", settings=jobs, rng=AtOnce()).run_until_done(
                "one"
            )
        [dead] = await stores.jobs.list(status="dead")
        assert (dead.shard, dead.last_error_code) == (SHARDS[1], "provider-unavailable")
        # The first failure tells nothing, and the next three are its own.
        assert source.asked == 4
        assert budget.advice == []
        assert (await stores.jobs.tally("one")).jobs.get("done", 0) == len(shards) - 1


class Away(Broken):
    """Answers nothing."""

    async def check(self) -> None:
        raise ProviderUnavailable("connection refused")

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        raise ProviderUnavailable("connection refused")


async def test_when_nothing_is_answered_nobody_asks_until_the_next_probe(tmp_path: Path) -> None:
    """Everybody who shares the budget pauses, as after a 429."""
    budget = Free()
    async with open_backend("sqlite", tmp_path) as backend:
        stores, settings = backend.stores, backend.settings.importing
        engine = Engine(Away(), stores.pages, stores.imports, budget, settings=settings, max_wait=1)  # type: ignore[arg-type]
        await stores.jobs.enqueue([NewJob(shard) for shard in SHARDS])
        leases = await stores.jobs.claim("me", limit=3, lease=30, max_vanished=5)
        waits = []
        for lease in leases:
            with pytest.raises(ProviderAway) as away:
                await engine.work(Held(lease, monotonic() + 30))
            waits.append(away.value.retry_in)
    # The first failure may be its shard's own. The third shard is not asked for before its time.
    assert budget.advice == [Advice(0, waits[1])]
    assert 0 < waits[2] <= waits[1]
