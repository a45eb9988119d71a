"""Keeps leases alive from a thread of its own, so that neither a busy loop nor a busy connection starves them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import WaypostError
from waypost.kernel.tasks import end
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.store import JobStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import LEASE_RENEWALS, LEASES_HELD

log = get_logger("jobs")

# The part of a lease after which it is renewed, and the part kept back because clocks and replies take time.
_RENEW_AFTER = 1 / 3
_MARGIN = 1 / 10
# The part after which a job that was being changed is tried again, and after an error all of them.
_TRY_AGAIN = 1 / 20


def deadline_of(sent: float, lease: float) -> float:
    """When a lease may no longer be trusted, counted from before the request for it was sent."""
    return sent + lease * (1 - _MARGIN)


class Renewer:
    """Renews every lease held, on a connection of its own; tells the holder at once when one is lost."""

    def __init__(self, open_store: Callable[[], AbstractAsyncContextManager[JobStore]], lease: float) -> None:
        self._open_store = open_store
        self._lease = lease
        # By fence, not by job: a job that was given back may be held again before its old lease is dropped here.
        self._held: dict[int, tuple[Held, Callable[[], None]]] = {}
        self._is_busy = False
        # Errors in a row.
        self._failures = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name="lease-renewer", daemon=True)

    def __enter__(self) -> Self:
        # Counted when the metrics are read, not for each job.
        LEASES_HELD.set_function(lambda: len(self._held))
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def hold(self, held: Held, on_lost: Callable[[], None]) -> None:
        with self._lock:
            self._held[held.lease.fence] = (held, on_lost)

    def drop(self, held: Held) -> None:
        with self._lock:
            self._held.pop(held.lease.fence, None)

    def raise_if_ended(self) -> None:
        """Raises what ended the thread: leases are no longer renewed, and no holder would be told of a lost one."""
        if self._failure:
            raise self._failure

    def _live(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as error:  # noqa: BLE001 - the worker raises it
            self._failure = error

    async def _run(self) -> None:
        watching, renewing = asyncio.create_task(self._watch()), asyncio.create_task(self._keep_renewing())
        done, _ = await asyncio.wait({watching, renewing}, return_when=asyncio.FIRST_COMPLETED)
        self._stop.set()
        await end(watching, renewing)
        for task in done:
            task.result()

    async def _keep_renewing(self) -> None:
        while not self._stop.is_set():
            try:
                async with self._open_store() as store:
                    # At once after an error: when the next renewal is due, the leases might be over.
                    if self._failures:
                        await self._renew(store)
                    while not await self._pause():
                        await self._renew(store)
            except WaypostError as error:
                log.warning("leases could not be renewed", error=error.slug, message=str(error))
                await self._bear()
            except Exception:
                # A thread that ended here would leave every lease to expire, and nobody would know why.
                log.exception("leases could not be renewed, because of a defect")
                await self._bear()

    async def _bear(self) -> None:
        """Notes an error. The next try is on a new connection: at once after the first error, then after a pause."""
        LEASE_RENEWALS.labels("error").inc()
        self._failures += 1
        if self._failures > 1:
            await self._pause()

    async def _watch(self) -> None:
        """Drops leases that may have expired: a store may take longer than a lease to say that it is away."""
        while True:
            await asyncio.sleep(self._lease * _MARGIN / 2)
            self._lose_the_expired()

    async def _pause(self) -> bool:
        """Waits until it is time to renew again; true when asked to stop."""
        soon = self._is_busy or self._failures
        return await asyncio.to_thread(self._stop.wait, self._lease * (_TRY_AGAIN if soon else _RENEW_AFTER))

    async def _renew(self, store: JobStore) -> None:
        held = self._all_held()
        if not held:
            self._failures = 0
            return
        sent = monotonic()
        renewed = await store.renew([each.lease for each in held], lease=self._lease)
        self._failures = 0
        for each in held:
            if each.lease.job_id in renewed.kept:
                each.deadline = max(each.deadline, deadline_of(sent, self._lease))
                LEASE_RENEWALS.labels("kept").inc()
            elif each.lease.job_id not in renewed.busy:
                self._lose(each)
        self._is_busy = bool(renewed.busy)

    def _lose_the_expired(self) -> None:
        for held in self._all_held():
            if monotonic() >= held.deadline:
                self._lose(held)

    def _all_held(self) -> list[Held]:
        with self._lock:
            return [held for held, _ in self._held.values()]

    def _lose(self, held: Held) -> None:
        with self._lock:
            _, on_lost = self._held.pop(held.lease.fence, (held, lambda: None))
        held.lost = True
        LEASE_RENEWALS.labels("lost").inc()
        on_lost()
