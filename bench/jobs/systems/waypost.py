"""Waypost: the worker that `waypost worker run` runs, with a handler that does nothing."""

import os
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import asyncpg

from waypost.bootstrap.jobs import open_job_store
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Held, NewJob
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.worker import Worker
from waypost.telemetry.logs import configure_logs

# As many as PgQueuer takes at a time.
_CONCURRENCY = 1000
# Counting them by status would take a second among millions.
_UNFINISHED = """
select exists (select from jobs where status = 'pending') or exists (select from jobs where status = 'leased')
"""


class Waypost:
    def __init__(self, url: str) -> None:
        self._url = url
        self._stack = AsyncExitStack()
        self._store: Any = None
        self._watcher: Any = None

    async def open(self) -> None:
        configure_logs("warning")
        self._store = await self._stack.enter_async_context(open_job_store(self._url))
        if self._url.startswith("postgresql:"):
            self._watcher = await asyncpg.connect(self._url)

    async def install(self) -> None:
        async with open_job_store(self._url, migrating=True):
            pass

    async def enqueue(self, count: int) -> None:
        await self._store.enqueue([NewJob(f"bench/id:{new_id()}") for _ in range(count)])

    async def is_finished(self) -> bool:
        if self._url.startswith("postgresql:"):
            return not await self._watcher.fetchval(_UNFINISHED)
        found = await self._store.count()
        return not found.get("pending") and not found.get("leased")

    async def work(self, on_start: Callable[[], None]) -> None:
        async def handler(_held: Held) -> None:
            on_start()

        settings = JobsSettings(lease=30, concurrency=_CONCURRENCY, max_attempts=5, store_patience=60)
        rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        with Renewer(lambda: open_job_store(self._url), settings.lease) as renewer:
            worker = Worker(self._store, renewer, handler, owner=f"bench-{os.getpid()}", settings=settings, rng=rng)
            await worker.run()


make = Waypost
