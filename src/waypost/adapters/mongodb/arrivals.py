"""Tells waiters that jobs may have become claimable, from a change stream; when that fails, they poll."""

import asyncio
from contextlib import suppress
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError

from waypost.kernel.clock import monotonic
from waypost.kernel.tasks import end
from waypost.telemetry.logs import get_logger

log = get_logger("mongodb")

_ARRIVALS: list[dict[str, Any]] = [
    {"$match": {"$or": [{"operationType": "insert"}, {"updateDescription.updatedFields.status": "pending"}]}},
    # That something came is all we need to know; the _id is the stream's own position.
    {"$project": {"_id": 1}},
]
_AWAIT_MS = 1000
# A stream that nobody waits for is closed: a worker with enough to do should not read about every job of the fleet.
_IDLE_SECONDS = 10.0
_POLL_SECONDS = 0.5
_REOPEN_AFTER_SECONDS = 30.0


class JobArrivals:
    """One change stream for all waiters, opened when the first one waits."""

    def __init__(self, jobs: AsyncCollection[dict[str, Any]]) -> None:
        self._jobs = jobs
        self._news = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None
        self._waiters = 0
        self._waited_at = 0.0
        self._failed_at: float | None = None
        self._warned = False

    async def wait(self, seconds: float) -> None:
        self._listen_if_possible()
        patience = min(seconds, _POLL_SECONDS) if self._listener is None else seconds
        self._waiters += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._news.wait()
        finally:
            self._waiters -= 1
            self._waited_at = monotonic()
        self._news.clear()

    async def close(self) -> None:
        if self._listener is not None:
            await end(self._listener)
            self._listener = None

    def _listen_if_possible(self) -> None:
        if self._listener is not None and self._listener.done():
            self._listener = None
        recently_failed = self._failed_at is not None and monotonic() - self._failed_at < _REOPEN_AFTER_SECONDS
        if self._listener is None and not recently_failed:
            self._waited_at = monotonic()
            self._listener = asyncio.create_task(self._listen(), name="arrivals")

    async def _listen(self) -> None:
        try:
            async with await self._jobs.watch(_ARRIVALS, max_await_time_ms=_AWAIT_MS) as stream:
                # What came between the waiter's last look and now is not in the stream: it should look once more.
                self._news.set()
                self._failed_at, self._warned = None, False
                while stream.alive and (self._waiters or monotonic() - self._waited_at < _IDLE_SECONDS):
                    if await stream.try_next() is not None:
                        self._news.set()
        except PyMongoError as error:
            self._failed_at = monotonic()
            if not self._warned:
                self._warned = True
                log.warning(
                    "no news of jobs from MongoDB, so we poll", error=type(error).__name__, message=str(error)[:300]
                )
            # Waiters for a stream that is gone poll from now on.
            self._news.set()
