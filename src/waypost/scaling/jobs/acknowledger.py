"""Acknowledges finished jobs in batches: while one batch is on its way, the next one gathers."""

import asyncio
import random
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from waypost.kernel.backoff import full_jitter
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.tasks import end
from waypost.scaling.jobs.job import Done, Held
from waypost.scaling.jobs.renewer import Renewer
from waypost.scaling.jobs.store import JobStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import JOBS_ENDED

log = get_logger("jobs")

_BATCH = 1000
_MOST_WAITING = 5000
_CLOSING_SECONDS = 5.0


class Acknowledger:
    """Keeps each job's lease renewed until its acknowledgement has arrived, or the lease is lost.

    An unforeseen error ends it: then it no longer holds any job, takes no more, and calls `on_end`.
    """

    def __init__(self, store: JobStore, renewer: Renewer, on_end: Callable[[], None]) -> None:
        self._store = store
        self._renewer = renewer
        self._on_end = on_end
        self._failure: Exception | None = None
        self._waiting: list[Held] = []
        self._in_flight = 0
        self._closing = False
        self._news = asyncio.Event()
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        """Sends what is left: what was done should be known to be done. It does not wait long for an absent store."""
        assert self._task
        self._closing = True
        self._news.set()
        await asyncio.wait({self._task}, timeout=_CLOSING_SECONDS)
        await end(self._task)

    @property
    def backlog(self) -> int:
        return len(self._waiting) + self._in_flight

    @property
    def has_room(self) -> bool:
        return self.backlog < _MOST_WAITING

    def acknowledge(self, held: Held) -> None:
        if self._failure:
            self._let_go([held])
            return
        self._waiting.append(held)
        self._news.set()

    def raise_if_ended(self) -> None:
        if self._failure:
            raise self._failure

    async def _run(self) -> None:
        try:
            await self._keep_sending()
        except Exception as error:  # noqa: BLE001 - the worker raises it
            self._failure = error
            waiting, self._waiting = self._waiting, []
            self._let_go(waiting)
            self._on_end()

    async def _keep_sending(self) -> None:
        while self._waiting or not self._closing:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
                self._in_flight = len(batch)
                try:
                    await self._send(batch)
                finally:
                    self._in_flight = 0
                    for held in batch:
                        self._renewer.drop(held)

    async def _send(self, batch: list[Held]) -> None:
        while batch:
            try:
                kept = await self._store.complete([Done(held.lease, dict(held.counted)) for held in batch])
            except StoreTrouble as trouble:
                log.warning("acknowledgements wait for the store", error=trouble.slug, message=str(trouble))
                await asyncio.sleep(full_jitter(1, base=1.0, cap=1.0, rng=self._rng))
                batch = self._without_lost(batch)
                continue
            JOBS_ENDED.labels("done").inc(len(kept))
            JOBS_ENDED.labels("lost").inc(len(batch) - len(kept))
            return

    def _let_go(self, helds: Sequence[Held]) -> None:
        """Lets these leases expire, so that another worker does the jobs again."""
        for held in helds:
            self._renewer.drop(held)
        JOBS_ENDED.labels("lost").inc(len(helds))

    def _without_lost(self, batch: list[Held]) -> list[Held]:
        """Drops those whose lease is lost: another worker does the job again, and our word no longer counts."""
        JOBS_ENDED.labels("lost").inc(sum(held.lost for held in batch))
        return [held for held in batch if not held.lost]
