"""Moves visits from the spool to the store that counts them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import WaypostError
from waypost.sharing.visits import agents
from waypost.sharing.visits.batches import BadLine, SpooledVisit
from waypost.sharing.visits.spool import Segment, Spool
from waypost.sharing.visits.store import VisitsRefused
from waypost.sharing.visits.visit import Visit
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import VISITS_SHIPPED

log = get_logger("visits")

_BATCH_BYTES = 256 * 1024
_SEGMENT_BYTES = 4 * 1024 * 1024
_PAUSE_SECONDS = 0.2
_LOOK_AROUND_SECONDS = 10.0
# In a rush it pauses four times as long as it counts: counting takes a fifth of the time.
_PATIENCE = 4.0


class VisitSink(Protocol):
    """Where visits are shipped to: the store itself, or something that carries them there.

    A batch may be shipped again, whole or in part, by this process or another one. In the end each visit's id is
    counted once.
    """

    async def append(self, visits: Sequence[Visit]) -> int:
        """Returns how many visits were new, once all are safe and the spool may forget them.

        Raises VisitsRefused, and keeps none, when one of them will never be taken for what is in it.
        """
        ...


class Shipper:
    """Spools each visit and ships it soon after, in batches; also ships what dead processes left."""

    def __init__(
        self, spool: Spool, sink: VisitSink, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._spool = spool
        self._sink = sink
        self._pause = pause
        self._news = asyncio.Event()
        self._next_look_around = 0.0

    def record(self, visit: Visit) -> None:
        """Called on the redirect path: one write to local disk, nothing awaited."""
        if self._spool.append(visit):
            self._news.set()

    def record_line(self, line: bytes) -> None:
        """Records a visit that is already a line of the spool."""
        if self._spool.append_line(line):
            self._news.set()

    async def run(self) -> None:
        """Ships visits until cancelled; a failing store only makes the spool grow."""
        await asyncio.to_thread(agents.prepare)
        while True:
            try:
                await self.ship()
            except WaypostError as error:
                log.warning("visits stay in the spool for now", error=error.slug, message=str(error))
            except Exception:
                # A defect here must not end the shipping for good: nobody would notice.
                log.exception("visits stay in the spool because of a defect")
            try:
                await asyncio.wait_for(self._news.wait(), _LOOK_AROUND_SECONDS)
            except TimeoutError:
                continue
            # Let a burst gather into one batch.
            await asyncio.sleep(_PAUSE_SECONDS)

    async def ship(self) -> None:
        self._news.clear()
        self._spool.count()
        looks_around = monotonic() >= self._next_look_around
        if looks_around:
            await self._ship_abandoned()
            self._next_look_around = monotonic() + _LOOK_AROUND_SECONDS
        await self._drain(self._spool.own)
        # Also a short one: what was shipped should not lie around for days, and some of it may have been erased since.
        own, enough = self._spool.own, 0 if looks_around else _SEGMENT_BYTES
        if own.size > enough and not own.backlog:
            self._spool.renew()

    async def close(self) -> None:
        """Ship the rest; the next process will ship what the store does not take now."""
        self._spool.count()
        try:
            await self._drain(self._spool.own)
        except WaypostError as error:
            log.warning("visits stay in the spool until the next start", error=error.slug, message=str(error))
            self._spool.own.leave()
        else:
            self._spool.own.remove()

    async def _ship_abandoned(self) -> None:
        try:
            for segment in self._spool.abandoned():
                try:
                    await self._drain(segment)
                except BaseException:
                    segment.leave()
                    raise
                segment.remove()
        finally:
            self._spool.measure()

    async def _drain(self, segment: Segment) -> None:
        own = self._spool.own
        while batch := segment.next_batch(_BATCH_BYTES):
            began, size = monotonic(), own.size
            refused = await self._append(batch.spooled)
            segment.set_aside([*batch.bad, *refused])
            segment.mark_shipped(batch)
            VISITS_SHIPPED.inc(len(batch.spooled) - len(refused))
            if own.size - size > batch.size and self._spool.is_roomy:
                # Visits come faster than they are counted, on the same core: clients waiting for answers go first.
                await self._pause(_PATIENCE * (monotonic() - began))

    async def _append(self, spooled: Sequence[SpooledVisit]) -> list[BadLine]:
        """Ships visits but for those that are refused, which it finds by halves and returns."""
        if not spooled:
            return []
        try:
            await self._sink.append([each.visit for each in spooled])
        except VisitsRefused as error:
            if len(spooled) == 1:
                return [BadLine(spooled[0].start, str(error))]
            middle = len(spooled) // 2
            return [*await self._append(spooled[:middle]), *await self._append(spooled[middle:])]
        return []
