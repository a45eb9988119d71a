"""The worker: claims jobs, works on several at once, and ends each lease the right way."""

import asyncio
import os
import random
import socket
from collections.abc import Awaitable, Callable

from waypost.kernel.backoff import full_jitter
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import Forbidden, NotNow, StoreTrouble, TransientError, WaypostError
from waypost.kernel.ids import new_id
from waypost.kernel.tasks import end
from waypost.kernel.text import as_text
from waypost.scaling.jobs.acknowledger import Acknowledger
from waypost.scaling.jobs.job import Failure, Held, LeaseLost
from waypost.scaling.jobs.renewer import Renewer, deadline_of
from waypost.scaling.jobs.settings import JobsSettings
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.jobs.store_trouble import Trouble
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import JOBS_ENDED

log = get_logger("jobs")

# Works on a held job to its end, committing as it goes.
Handler = Callable[[Held], Awaitable[None]]

_POLL_SECONDS = 1.0
# While the renewer gets through, more than this part of a lease is left.
_ENOUGH = 1 / 2
_RETRY_BASE, _RETRY_CAP = 1.0, 60.0
_TROUBLE_SECONDS = 3.0


def worker_name() -> str:
    """A name that no other worker has: its machine, its process, and a part of an id."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_id().hex[-6:]}"


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
        # Tasks whose handler is at work.
        self._handling: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._acknowledger = Acknowledger(store, renewer, self._changed.set)
        self._refusal: Forbidden | None = None
        self._stopping = False
        # Trouble of the job store, and of the stores that handlers write to.
        self._trouble = Trouble(settings.store_patience)
        self._trouble_at_work = Trouble(settings.store_patience)

    def stop(self) -> None:
        """Gives every job back and ends; what was committed stays."""
        self._stopping = True
        self._changed.set()

    async def run(self) -> None:
        """Works on any job there is, until `stop`."""
        await self._run(None, _never)

    async def run_until_idle(self) -> None:
        """Works until no job is left to do, here or in any other worker, or until `stop`."""

        async def is_over() -> bool:
            found = await self._store.count()
            return not found.get("pending") and not found.get("leased")

        await self._run(None, is_over)

    async def run_until_done(self, group: str) -> None:
        """Works until no job of the group is left to do, or until `stop`."""

        async def is_over() -> bool:
            return not (await self._store.tally(group)).unfinished

        await self._run(group, is_over)

    async def _run(self, group: str | None, is_over: Callable[[], Awaitable[bool]]) -> None:
        """When the provider forbids us (a wrong key, a ban), asking for the other shards would only make it worse:
        the rest is given back and the refusal is raised. So is store trouble that lasts too long, and whatever ended
        the acknowledger or the renewer: without them jobs would stay leased, and nobody would know why.
        """
        async with self._acknowledger:
            try:
                while not self._stopping and not self._refusal:
                    self._raise_what_is_past_bearing()
                    try:
                        if await self._step(group, is_over):
                            return
                    except StoreTrouble as trouble:
                        self._trouble.note(trouble, monotonic())
                        await asyncio.sleep(self._pause_after(trouble))
            finally:
                await self._release_all()
        # The renewer's error no longer matters: nothing is held any more.
        self._acknowledger.raise_if_ended()
        if self._refusal:
            raise self._refusal

    def _raise_what_is_past_bearing(self) -> None:
        self._renewer.raise_if_ended()
        self._acknowledger.raise_if_ended()
        self._trouble.raise_if_it_lasts()
        self._trouble_at_work.raise_if_it_lasts()

    async def _step(self, group: str | None, is_over: Callable[[], Awaitable[bool]]) -> bool:
        """Claims what there is room for, and waits for something to change; true when all is over."""
        self._changed.clear()
        room = self._settings.concurrency - len(self._tasks) if self._acknowledger.has_room else 0
        claimed = await self._claim(group, room) if room > 0 else 0
        if claimed and claimed == room:
            # There may be more; but let those just claimed begin.
            await asyncio.sleep(0)
            return False
        if not self._tasks and not self._acknowledger.backlog and await is_over():
            return True
        await self._wait(for_work=room > 0)
        return False

    async def _claim(self, group: str | None, room: int) -> int:
        sent = monotonic()
        leases = await self._store.claim(
            self._owner,
            limit=room,
            lease=self._settings.lease,
            max_vanished=self._settings.max_vanished,
            group=group,
        )
        self._trouble.end()
        deadline = deadline_of(sent, self._settings.lease)
        for lease in leases:
            held = Held(lease, deadline, self._keep, self._trouble_at_work.end)
            task = asyncio.create_task(self._work(held))
            self._tasks.add(task)
            # Renewed from now on, and not once its task begins: the loop may be busy until then.
            self._renewer.hold(held, self._interrupter(task))
        return len(leases)

    async def _keep(self, held: Held) -> None:
        """Renews a lease that the renewer has not renewed for too long."""
        sent, lease = monotonic(), self._settings.lease
        if held.deadline - sent > lease * _ENOUGH:
            return
        renewed = await self._store.renew([held.lease], lease=lease)
        if held.lease.job_id in renewed.kept:
            held.deadline = max(held.deadline, deadline_of(sent, lease))
        elif held.lease.job_id not in renewed.busy:
            raise LeaseLost(f"the lease on {held.lease.shard} (fence {held.lease.fence}) is no longer ours")

    async def _wait(self, *, for_work: bool) -> None:
        """Waits until a job ends, `stop` is called, or there may be work to claim."""
        waits: set[asyncio.Task[object]] = {asyncio.create_task(self._changed.wait())}
        if for_work:
            waits.add(asyncio.create_task(self._store.wait(_POLL_SECONDS)))
        done, waiting = await asyncio.wait(waits, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        await end(*waiting)
        for task in done:
            task.result()

    def _pause_after(self, trouble: StoreTrouble) -> float:
        """Returns how long to leave the store alone."""
        log.warning("the store is in trouble", error=trouble.slug, message=str(trouble))
        return full_jitter(1, base=_TROUBLE_SECONDS, cap=_TROUBLE_SECONDS, rng=self._rng)

    async def _work(self, held: Held) -> None:
        task = asyncio.current_task()
        assert task
        how = "lost"
        try:
            if self._stopping:  # claimed, but asked to stop before it began
                how = await self._give_back(held)
            elif not held.lost:
                how = await self._handle(held, task)
        finally:
            # Whatever happened: a lease without a handler at work must not be renewed.
            if how == "worked":
                self._acknowledger.acknowledge(held)
            else:
                self._renewer.drop(held)
                JOBS_ENDED.labels(how).inc()
            log.debug("job ended", shard=held.lease.shard, how=how)
            # Here and not in a callback of the task, which would run one loop iteration later: the room is free now.
            self._tasks.discard(task)
            self._changed.set()

    async def _handle(self, held: Held, task: "asyncio.Task[None]") -> str:
        """Returns how the job ended; "worked" if that has yet to be acknowledged."""
        self._handling.add(task)
        began = monotonic()
        try:
            await self._handler(held)
        except asyncio.CancelledError:
            self._handling.discard(task)
            return "lost" if held.lost else await self._give_back(held)
        except Exception as error:  # noqa: BLE001 - judged there, by its type
            self._handling.discard(task)
            self._note_how_the_store_is(error, began)
            return await self._judge(held, error)
        self._handling.discard(task)
        self._trouble_at_work.end()
        return "done" if held.ended else "worked"

    def _interrupter(self, task: "asyncio.Task[None]") -> Callable[[], None]:
        """Returns a callback that may be called from any thread."""

        def on_lost() -> None:
            task.get_loop().call_soon_threadsafe(self._interrupt, task)

        return on_lost

    def _interrupt(self, task: "asyncio.Task[None]") -> None:
        """Interrupts a handler, and nothing else: what follows it ends the lease, and must not be left half done."""
        if task in self._handling:
            task.cancel()

    def _note_how_the_store_is(self, error: Exception, began: float) -> None:
        """A handler that ended with another error had got past the store."""
        if isinstance(error, StoreTrouble):
            self._trouble_at_work.note(error, monotonic(), began=began)
        elif not isinstance(error, LeaseLost):
            self._trouble_at_work.end()

    async def _judge(self, held: Held, error: Exception) -> str:
        """Decides what becomes of the job by whose fault the error is."""
        match error:
            case LeaseLost():
                return "lost"
            case NotNow():
                why = Failure(error.slug, as_text(str(error))) if error.retry_in > 0 else None
                return await self._give_back(held, delay=error.retry_in, why=why)
            case StoreTrouble():
                # If the store does not even take it back, the lease will expire.
                return await self._give_back(held, delay=self._pause_after(error))
            case WaypostError():
                return await self._fail(held, error)
            case _:
                # A defect in a handler must not take the worker and its other jobs down.
                log.error("a job ended with a defect", shard=held.lease.shard, exc_info=error)
                return await self._fail(held, _defect(error))

    async def _fail(self, held: Held, error: WaypostError) -> str:
        # Workers that vanished with the job are not counted: they say nothing about why it failed.
        failures = held.lease.failures + 1
        retry = isinstance(error, TransientError) and failures < self._settings.max_attempts
        delay = full_jitter(failures + 1, base=_RETRY_BASE, cap=_RETRY_CAP, rng=self._rng) if retry else None
        log.warning("job failed", shard=held.lease.shard, error=error.slug, message=str(error), retry_in=delay)
        held.counted["retries"] += retry
        try:
            failure = Failure(error.slug, as_text(str(error)))
            await self._store.fail(held.lease, failure, retry_in=delay, counted=held.counted)
        except Exception as failure_of_the_store:  # noqa: BLE001 - told there; the lease will expire
            return self._lose(held, failure_of_the_store)
        finally:
            if isinstance(error, Forbidden):
                self._refusal = error
        return "retry" if retry else "dead"

    async def _give_back(self, held: Held, delay: float = 0.0, why: Failure | None = None) -> str:
        try:
            await self._store.release(held.lease, counted=held.counted, delay=delay, why=why)
        except Exception as error:  # noqa: BLE001 - told there; the lease will expire
            return self._lose(held, error)
        return "released"

    def _lose(self, held: Held, error: Exception) -> str:
        """The store did not take a job back."""
        if not isinstance(error, (LeaseLost, StoreTrouble)):
            log.error("a job could not be given back", shard=held.lease.shard, exc_info=error)
        return "lost"

    async def _release_all(self) -> None:
        self._stopping = True
        # Repeated if need be: a driver may lose an interruption that arrives together with an answer.
        while self._tasks:
            for task in self._tasks:
                self._interrupt(task)
            await asyncio.wait(self._tasks, timeout=_POLL_SECONDS)


async def _never() -> bool:
    return False


def _defect(error: Exception) -> TransientError:
    return TransientError(f"a defect in Waypost: {type(error).__name__}: {error}")
