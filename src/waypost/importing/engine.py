"""The import engine: from a leased job, page by page, to a finished shard."""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from waypost.importing.base import BaseSource
from waypost.importing.imports import ImportStore
from waypost.importing.outage import Outage
from waypost.importing.pages import Committed, OutdatedAnswer, PageStore, Writing
from waypost.importing.passes import ENDING
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import (
    BadCursor,
    EmptyPage,
    Page,
    ProviderAway,
    ProviderRefused,
    ProviderUnavailable,
    Remembered,
    Source,
    StuckCursor,
)
from waypost.kernel.clock import monotonic
from waypost.kernel.errors import NotNow, TerminalError
from waypost.scaling.jobs.job import Held, LeaseLost
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.budget import Advice, Budget
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import PLACES_WRITTEN

log = get_logger("importing")

# What can happen to a record, or to a place that we had.
CHANGES = ("added", "changed", "unchanged", "removed", "rejected")


class PagesBound(NotNow):
    """A shard had as many pages as one worker takes in a row, and cannot be cut; the next worker goes on with it."""


class Truncated(TerminalError):
    """The provider sends only a part of what a shard has, and the shard cannot be cut any smaller."""


@dataclass
class _Visit:
    """One worker's time with a shard: which cursors it has seen, and when it last wrote something down."""

    held: Held
    shard: ShardKey
    most_removed: float
    pages: int = 0
    cursors: set[str | None] = field(default_factory=set)
    noted_at: float = field(default_factory=monotonic)

    def note_time(self) -> None:
        now = monotonic()
        self.held.counted["milliseconds"] += round((now - self.noted_at) * 1000)
        self.noted_at = now


class Engine:
    """Handles import jobs for one source. Its `work` is what a worker calls with each job it holds."""

    def __init__(
        self,
        source: Source,
        pages: PageStore,
        imports: ImportStore,
        budget: Budget,
        *,
        settings: ImportingSettings,
        max_wait: float,
    ) -> None:
        self._source = source
        self._pages = pages
        self._imports = imports
        self._budget = budget
        self._settings = settings
        self._max_wait = max_wait
        rng = random.Random()  # noqa: S311 - spreads probes, guards nothing
        self._outage = Outage(settings.provider_patience, rng)
        self._probing = asyncio.Lock()
        # A source that checks nothing would always seem to be there.
        self._can_be_probed = type(source).check is not BaseSource.check

    async def work(self, held: Held) -> None:
        lease = await self._pages.begin(held.lease)
        if lease is None:
            return
        held.lease = lease
        shard = ShardKey.parse(lease.shard)
        visit = _Visit(held, shard, await self._most_removed(shard))
        try:
            while visit.held.lease.cursor != ENDING and not await self._bring_next(visit):
                pass
            await self._end(visit)
        finally:
            visit.note_time()
        log.debug("shard done", shard=str(shard))

    async def _most_removed(self, shard: ShardKey) -> float:
        """Returns the share that may be removed: everything, if the shard's refresh allows mass deletion."""
        if "refresh" in shard.axes:
            found = await self._imports.get(shard["refresh"])
            if found and found.scope.allow_mass_delete:
                return 1.0
        return self._settings.most_removed

    async def _bring_next(self, visit: _Visit) -> bool:
        try:
            return await self._bring_a_page(visit)
        except OutdatedAnswer:
            # The places that we remembered have been changed since then, so the answer's name proves nothing.
            return await self._bring_a_page(visit, remembering=False)

    async def _bring_a_page(self, visit: _Visit, *, remembering: bool = True) -> bool:
        """Asks for a page within the budget and commits it; true when the shard has been read to its end."""
        held, shard = visit.held, visit.shard
        await held.keep()
        question = self._source.question(shard, held.lease.cursor)
        known = await self._pages.remembered(question) if question and remembering else None
        now, read_at = await self._pages.now(), monotonic()
        await self._wait_for_turn(held)
        # Nothing is asked of the store between the turn and the request: it may be slow, and the turn does not wait.
        requested_at = now + timedelta(seconds=monotonic() - read_at)
        page = await self._ask(held, shard, known)
        _refuse_endless(visit, page)
        visit.pages += 1
        is_enough = visit.pages >= self._settings.max_pages and not page.last
        parts = self._parts(shard, page) if page.truncated or is_enough else ()
        visit.note_time()
        writing = msgspec.structs.replace(
            self._writing(visit, requested_at),
            question=question,
            known_at=known.requested_at if known and page.still else None,
            parts=[str(part) for part in parts],
        )
        _note(visit, await self._pages.commit(held.lease, page, writing), page.cursor)
        if is_enough and not parts:
            raise PagesBound(f"{shard}: {visit.pages} pages in a row (import.max_pages)", retry_in=0.0)
        return page.last or bool(parts)

    async def _end(self, visit: _Visit) -> None:
        """Removes what is gone, in commits of bounded size; the provider is not asked for anything."""
        held = visit.held
        while held.lease.cursor == ENDING:
            await held.keep()
            visit.note_time()
            writing = self._writing(visit, await self._pages.now())
            _note(visit, await self._pages.go_on(held.lease, writing), None)

    def _writing(self, visit: _Visit, requested_at: datetime) -> Writing:
        return Writing(
            requested_at=requested_at,
            counted=visit.held.counted,
            extent=self._source.extent(visit.shard),
            most_removed=visit.most_removed,
            most_rejected=self._settings.most_rejected,
        )

    async def _wait_for_turn(self, held: Held) -> None:
        if key := self._source.budget_key:
            await self._take_a_turn(key, held)
            if self._can_be_probed and self._outage.needs_a_probe(held.lease.shard):
                await self._probe(held)
                await self._take_a_turn(key, held)
        if monotonic() >= held.deadline:
            raise LeaseLost(f"the lease on {held.lease.shard} ran out while waiting for its turn")

    async def _take_a_turn(self, key: str, held: Held) -> None:
        """Waits for a turn, but does not hold the job through a pause that outlasts the lease.

        A worker that is killed meanwhile would seem to have begun.
        """
        lost_at = -math.inf
        # Again, if this process was suspended just after it was given a turn, and missed it.
        while monotonic() > lost_at:
            left = held.deadline - monotonic()
            lost_at = await self._budget.acquire(key, max_wait=self._max_wait, max_pause=max(0.0, left))

    async def _probe(self, held: Held) -> None:
        """One task sends a small request to a provider that is away; the others go by its result."""
        async with self._probing:
            if not self._outage.needs_a_probe(held.lease.shard):
                return
            if (wait := self._outage.rests_for(monotonic())) > 0:
                raise ProviderAway(f"the provider at {self._source.provider} is away", retry_in=wait)
            async with self._judging(held):
                await self._source.check()
            self._outage.answered(monotonic())

    async def _ask(self, held: Held, shard: ShardKey, known: Remembered | None) -> Page:
        key, cursor = self._source.budget_key, held.lease.cursor
        async with self._judging(held):
            page = await (
                self._source.fetch_if_changed(shard, cursor, known) if known else self._source.fetch(shard, cursor)
            )
        self._outage.brought_a_page(held.lease.shard, monotonic())
        if key:
            self._budget.succeeded(key)
            if page.advice:
                await self._budget.advise(key, page.advice)
        return page

    @asynccontextmanager
    async def _judging(self, held: Held) -> AsyncIterator[None]:
        """Wraps one request. If it fails, decides whose fault that is, and what it means for all who use this key."""
        key, asked_at = self._source.budget_key, monotonic()
        held.counted["requests"] += 1
        try:
            yield
        except ProviderRefused as refusal:
            held.counted["refusals"] += 1
            if key:
                refusal.retry_in = await self._budget.penalise(key, refusal.retry_after)
            raise
        except ProviderUnavailable as fault:
            away = self._outage.failed(held.lease.shard, asked_at=asked_at, now=monotonic()) if key else None
            if key is None or away is None:
                raise
            if away.all_wait:
                log.warning(
                    "the provider is away", source=self._source.name, message=str(fault), retry_in=away.retry_in
                )
                await self._budget.advise(key, Advice(0, away.retry_in))
            raise ProviderAway(str(fault), retry_in=away.retry_in, next_step=fault.next_step) from fault

    def _parts(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        parts = self._source.rest(shard, page)
        if page.truncated and not parts:
            raise Truncated(f"{shard}: the provider has more than it sends, and the shard cannot be cut any smaller")
        return parts


def _note(visit: _Visit, committed: Committed, following: str | None) -> None:
    """Notes that a commit went through. Raises the reason why the shard must not end, if there is one."""
    visit.held.progressed(ENDING if committed.more else following)
    visit.held.ended = committed.ended
    for change in CHANGES:
        PLACES_WRITTEN.labels(change).inc(committed.changes.get(change, 0))
    if committed.unsure:
        log.warning("nothing was removed", shard=str(visit.shard), why=committed.unsure)
    if committed.refused:
        raise committed.refused


def _refuse_endless(visit: _Visit, page: Page) -> None:
    """A page must lead on, or the shard would never end."""
    if page.cursor and page.cursor.startswith(ENDING):
        raise BadCursor(f"{visit.shard}: {page.cursor[:80]!r} cannot be a source's cursor")
    if page.last or page.truncated:
        return
    visit.cursors.add(visit.held.lease.cursor)
    if page.cursor in visit.cursors:
        raise StuckCursor(f"{visit.shard}: the page after {visit.held.lease.cursor} leads back to {page.cursor}")
    if page.is_empty:
        raise EmptyPage(f"{visit.shard}: the page after {visit.held.lease.cursor} is empty, and yet has a next one")
