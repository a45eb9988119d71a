"""The worker: claims jobs, works on several at once, and ends each lease the right way."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import Forbidden, TransientError, WaypostError
from waypost.scaling.jobs.job import Failure, Held, LeaseLost
from waypost.scaling.jobs.renewer import Renewer, deadline_of
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import JOBS_ENDED

log = get_logger("jobs")

# Works on a held job to its end, committing as it goes; it ends the job itself, with its last write.
Handler = Callable[[Held], Awaitable[None]]

_POLL_SECONDS = 0.5
_RETRY_BASE, _RETRY_CAP = 1.0, 60.0


class Worker:
    def __init__(
        self,
        store: JobStore,
        renewer: Renewer,
        handler: Handler,
        *,
        owner: str,
        settings: JobsSettings,
        rng: random.Random,
    ) -> None:
        self._store = store
        self._renewer = renewer
        self._handler = handler
        self._owner = owner
        self._settings = settings
        self._rng = rng
        self._tasks: set[asyncio.Task[None]] = set()
        self._refusal: Forbidden | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Give every job back and end; what was committed stays."""
        self._stop.set()

    async def run_until_done(self, group: str) -> None:
        """Work until no job of the group is left to do, or until `stop`.

        When the provider forbids us (a wrong key, a ban), asking for the other shards would only make it worse:
        the rest is given back and the refusal is raised.
        """
        try:
            while not self._stop.is_set() and not self._refusal:
                await self._claim(group)
                if not self._tasks and not (await self._store.tally(group)).unfinished:
                    return
                await self._wait()
        finally:
            await self._release_all()
        if self._refusal:
            raise self._refusal

    async def _claim(self, group: str) -> None:
        free = self._settings.concurrency - len(self._tasks)
        if not free:
            return
        sent = monotonic()
        leases = await self._store.claim(
            self._owner,
            limit=free,
            lease=self._settings.lease,
            max_attempts=self._settings.max_attempts,
            group=group,
        )
        for lease in leases:
            task = asyncio.create_task(self._work(Held(lease, deadline_of(sent, self._settings.lease))))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _wait(self) -> None:
        """Until a job ends, `stop` is called, or it is time to look for due and expired jobs again."""
        stopped = asyncio.create_task(self._stop.wait())
        await asyncio.wait({stopped, *self._tasks}, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

    async def _work(self, held: Held) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)

        self._renewer.hold(held, cancel)
        how = "done"
        try:
            await self._handler(held)
        except asyncio.CancelledError:
            how = "lost" if held.lost else await self._give_back(held)
        except LeaseLost:
            how = "lost"
        except WaypostError as error:
            how = await self._fail(held, error)
        except Exception as error:
            # A defect in a handler must not take the worker and its other jobs down.
            log.exception("a job ended with a defect", shard=held.lease.shard)
            how = await self._fail(held, _defect(error))
        finally:
            self._renewer.drop(held)
            JOBS_ENDED.labels(how).inc()
            log.debug("job ended", shard=held.lease.shard, how=how)

    async def _fail(self, held: Held, error: WaypostError) -> str:
        retry = isinstance(error, TransientError) and held.lease.attempts < self._settings.max_attempts
        delay = full_jitter(held.lease.attempts + 1, base=_RETRY_BASE, cap=_RETRY_CAP, rng=self._rng) if retry else None
        if isinstance(error, Forbidden):
            self._refusal = error
        log.warning("job failed", shard=held.lease.shard, error=error.slug, message=str(error), retry_in=delay)
        held.counted["retries"] += retry
        try:
            await self._store.fail(held.lease, Failure(error.slug, str(error)), retry_in=delay, counted=held.counted)
        except LeaseLost:
            return "lost"
        return "retry" if retry else "dead"

    async def _give_back(self, held: Held) -> str:
        try:
            await self._store.release(held.lease, counted=held.counted)
        except LeaseLost:
            return "lost"
        return "released"

    async def _release_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _defect(error: Exception) -> TransientError:
    return TransientError(f"a defect in Waypost: {type(error).__name__}: {error}")
