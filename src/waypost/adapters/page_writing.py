"""What a page changes, inside the transaction that commits it: the same on all backends, each of which says how."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.adapters.page_ending import PageEnding
from waypost.adapters.page_rows import PageRows, PlaceRow, RejectRow, Versions, changes_of, moved_by, remembered
from waypost.adapters.pass_outcomes import Outcome, concluded, decode_pass, encode_pass
from waypost.importing.pages import Committed, OutdatedAnswer, Writing
from waypost.importing.passes import Gap, Pass
from waypost.importing.refusals import too_many_rejected
from waypost.importing.source import Page
from waypost.kernel.errors import TerminalError
from waypost.places.events import PlacesChanged, places_changed
from waypost.scaling.event_outbox import Event
from waypost.scaling.jobs.job import Lease


class PageWriting(ABC):
    """`now` is the store's time."""

    def __init__(self, lease: Lease, writing: Writing, ending: PageEnding, now: datetime) -> None:
        self._lease = lease
        self._shard = lease.shard
        self._writing = writing
        self._ending = ending
        self._moment = now

    async def write(self, page: Page, rows: PageRows) -> Outcome:
        state = (await self._load()).reading(page, self._writing.extent, self._writing.requested_at)
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        state = await self._look_for_the_gone(state, page, rows.seen)
        again = await self._ending.mark(state.marks, rows.marks(state.records)) if state.marks and rows.seen else {}
        settled = rows.settled(state.records, again)
        state = msgspec.structs.replace(state, unsure=state.unsure or moved_by(again, page))
        added, changed = await self._put(settled.places, rows.still) if settled.accepted else ([], [])
        if settled.rejects:
            await self._reject(settled.rejects)
        if self._writing.question and (answer := remembered(page, settled)):
            await self._remember(self._writing.question, answer.decode())
        state = settled.noted_in(state, len(added))
        error = None
        if page.last or self._writing.parts:
            error = too_many_rejected(self._shard, self._writing, state)
            state = state if error else await self._ending.go_on(state.ending(page, self._writing.parts))
        changes = await self._tell(added, changed)
        return await self._keep(settled.count(changes), state, error)

    async def go_on(self) -> Outcome:
        state = await self._ending.go_on(await self._load())
        changes = await self._tell([], [])
        return await self._keep(Counter(removed=len(changes.removed)), state, None)

    async def _load(self) -> Pass:
        return decode_pass(await self._load_pass(), self._lease)

    async def _keep(self, counted: Counter[str], state: Pass, error: TerminalError | None) -> Outcome:
        outcome = concluded(counted, state, error or self._ending.refused)
        await self._keep_pass(None if outcome.is_over else encode_pass(outcome.state))
        return outcome

    async def _look_for_the_gone(self, state: Pass, page: Page, seen: Sequence[str]) -> Pass:
        if seen:
            await self._ending.strike(seen)
        if not page.covers or state.unsure or any(gap.is_open for gap in state.gaps):
            return state
        covered = Gap(page.covers.start, "", page.covers.end, self._writing.requested_at)
        rest = await self._ending.gather(covered, seen)
        return state.leaving(rest) if rest else state

    async def _tell(self, added: Versions, changed: Versions) -> PlacesChanged:
        """Writes one event for all that the commit changes."""
        changes = changes_of(self._shard, self._writing, added, changed, self._ending.removed)
        if not changes.is_empty:
            await self._write_event(places_changed(changes, self._moment))
        return changes

    def _outdated(self) -> OutdatedAnswer:
        return OutdatedAnswer(f"{self._shard}: places have changed since the answer was remembered")

    @abstractmethod
    async def _load_pass(self) -> str | None: ...

    @abstractmethod
    async def _keep_pass(self, state: str | None) -> None:
        """Keeps how far the pass is; with None, forgets it, because it is over."""

    @abstractmethod
    async def _put(self, rows: Sequence[PlaceRow], still: Sequence[str]) -> tuple[Versions, Versions]:
        """Writes what is new and what has changed; returns which was which, with its version.

        Notes places that are `still` as they were, as the provider says. Raises OutdatedAnswer.
        """

    @abstractmethod
    async def _reject(self, rows: Sequence[RejectRow]) -> None: ...

    @abstractmethod
    async def _remember(self, question: str, answer: str) -> None: ...

    @abstractmethod
    async def _write_event(self, event: Event) -> None: ...


Write = Callable[[PageWriting], Coroutine[Any, Any, Outcome]]


class PageCommits(ABC):
    """What all page stores share; as it is, for those whose jobs are beside their places."""

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def unfinished(self, shards: Collection[str]) -> Mapping[str, Sequence[str]]:  # noqa: ARG002 - see the port
        return {}

    async def commit(self, lease: Lease, page: Page, writing: Writing) -> Committed:
        rows = PageRows(page, writing)
        return await self._commit(lease, writing, lambda pages: pages.write(page, rows), page.cursor)

    async def go_on(self, lease: Lease, writing: Writing) -> Committed:
        return await self._commit(lease, writing, PageWriting.go_on, None)

    @abstractmethod
    async def _commit(self, lease: Lease, writing: Writing, write: Write, following: str | None) -> Committed: ...
