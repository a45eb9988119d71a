"""Keeps leases alive from a thread of its own, so that neither a busy loop nor a busy connection starves them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import WaypostError
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.store import JobStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import LEASE_RENEWALS, LEASES_HELD

log = get_logger("jobs")

# The part of a lease after which it is renewed, and the part kept back because clocks and replies take time.
_RENEW_AFTER = 1 / 3
_MARGIN = 1 / 10


def deadline_of(sent: float, lease: float) -> float:
    """When a lease may no longer be trusted, counted from before the request for it was sent."""
    return sent + lease * (1 - _MARGIN)


class Renewer:
    """Renews every lease held, on a connection of its own; tells the holder at once when one is lost."""

    def __init__(self, open_store: Callable[[], AbstractAsyncContextManager[JobStore]], lease: float) -> None:
        self._open_store = open_store
        self._lease = lease
        self._held: dict[str, tuple[Held, Callable[[], None]]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="lease-renewer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def hold(self, held: Held, on_lost: Callable[[], None]) -> None:
        with self._lock:
            self._held[held.lease.job_id] = (held, on_lost)
            LEASES_HELD.set(len(self._held))

    def drop(self, held: Held) -> None:
        with self._lock:
            self._held.pop(held.lease.job_id, None)
            LEASES_HELD.set(len(self._held))

    async def _run(self) -> None:
        async with self._open_store() as store:
            while not await asyncio.to_thread(self._stop.wait, self._lease * _RENEW_AFTER):
                await self._renew(store)

    async def _renew(self, store: JobStore) -> None:
        with self._lock:
            held = [held for held, _ in self._held.values()]
        if not held:
            return
        sent = monotonic()
        try:
            kept = await store.renew([each.lease for each in held], lease=self._lease)
        except WaypostError as error:
            LEASE_RENEWALS.labels("error").inc()
            log.warning("leases could not be renewed", error=error.slug, message=str(error))
            kept = None
        for each in held:
            if kept is not None and each.lease.job_id in kept:
                each.deadline = deadline_of(sent, self._lease)
                LEASE_RENEWALS.labels("kept").inc()
            elif kept is not None or monotonic() >= each.deadline:
                self._lose(each)

    def _lose(self, held: Held) -> None:
        with self._lock:
            _, on_lost = self._held.pop(held.lease.job_id, (held, lambda: None))
        held.lost = True
        LEASE_RENEWALS.labels("lost").inc()
        on_lost()
