"""What a page changes on PostgreSQL, inside the transaction that commits it."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
from asyncpg.pgproto import pgproto

from waypost.adapters.page_rows import (
    PageRows,
    PlaceRow,
    RejectRow,
    SettledRows,
    Versions,
    changes_of,
    moved_by,
    remembered,
)
from waypost.adapters.pass_outcomes import Outcome, concluded, decode_pass, encode_pass
from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.page_ending import PostgresPageEnding
from waypost.adapters.queries import load_queries
from waypost.importing.pages import OutdatedAnswer, Writing, rivals
from waypost.importing.passes import Gap, Pass
from waypost.importing.refusals import too_many_rejected
from waypost.importing.source import Page
from waypost.kernel.errors import TerminalError
from waypost.places.events import PlacesChanged, places_changed
from waypost.scaling.jobs.job import Lease

SQL = load_queries(__package__, "pages.sql")


class PostgresPageWriting:
    """`contended` names the statement that says whether others may bring the same places at this moment."""

    def __init__(self, tx: Any, lease: Lease, writing: Writing, *, contended: str) -> None:
        self._tx = tx
        self._lease = lease
        self._shard = lease.shard
        self._writing = writing
        self._contended = contended
        self._ending = PostgresPageEnding(tx, lease.shard, writing)

    async def write(self, page: Page, rows: PageRows) -> Outcome:
        state = (await self._load()).reading(page, self._writing.extent, self._writing.requested_at)
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        state = await self._look_for_the_gone(state, page, rows.seen)
        again = await self._mark(state.marks, rows.marks(state.records)) if state.marks and rows.seen else {}
        settled = rows.settled(state.records, again)
        state = msgspec.structs.replace(state, unsure=state.unsure or moved_by(again, page))
        if rows.still:
            await self._see_again(rows.still)
        added, changed = await self._put(settled.places) if settled.places else ([], [])
        if settled.rejects:
            await self._tx.execute(SQL["reject"], self._shard, *_reject_columns(settled.rejects))
        await self._remember(page, settled)
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
        rows = await self._tx.fetch(SQL["pass"], self._shard)
        return decode_pass(rows[0]["state"] if rows else None, self._lease)

    async def _keep(self, counted: Counter[str], state: Pass, error: TerminalError | None) -> Outcome:
        outcome = concluded(counted, state, error or self._ending.refused)
        if outcome.is_over:
            await self._tx.execute(SQL["forget_pass"], self._shard)
        else:
            await self._tx.execute(SQL["keep_pass"], self._shard, encode_pass(outcome.state))
        return outcome

    async def _tell(self, added: Versions, changed: Versions) -> PlacesChanged:
        """Writes one event for all that the commit changes."""
        changes = changes_of(self._shard, self._writing, added, changed, self._ending.removed)
        if not changes.is_empty:
            event = places_changed(changes, datetime.now(UTC))
            await self._tx.execute(
                SQL["event"], UUID(event.id), event.name, event.subject, event.occurred_at, bytes(event.data).decode()
            )
        return changes

    async def _look_for_the_gone(self, state: Pass, page: Page, seen: list[str]) -> Pass:
        if seen:
            await self._tx.execute(SQL["strike"], seen, self._writing.requested_at)
        if not page.covers or state.unsure or any(gap.is_open for gap in state.gaps):
            return state
        covered = Gap(page.covers.start, "", page.covers.end, self._writing.requested_at)
        rest = await self._ending.gather(covered, seen)
        return state.leaving(rest) if rest else state

    async def _mark(self, name: str, positions: dict[str, int]) -> dict[str, int]:
        """Marks what the pass sees; returns those that it has seen before, and where."""
        rows = await self._tx.fetch(SQL["marked"], UUID(name), list(positions))
        before = {row["external_id"]: row["position"] for row in rows}
        again = {each: before[each] for each in before if before[each] > 0 or positions[each] < 0}
        fresh = {each: position for each, position in positions.items() if each not in again}
        await self._tx.execute(SQL["mark"], UUID(name), list(fresh), list(fresh.values()))
        return again

    async def _see_again(self, still: list[str]) -> None:
        """Notes places that, as the provider says, are as they were when we last asked."""
        [row] = await self._tx.fetch(SQL[self._contended], *rivals(self._shard))
        ids = sorted(still)
        if row["contended"]:
            await self._tx.fetch(SQL["hold_still"], ids)
        if known_at := self._writing.known_at:
            [found] = await self._tx.fetch(SQL["unchanged_since"], ids, known_at)
            if found["unchanged"] < len(ids):
                raise OutdatedAnswer(f"{self._shard}: places have changed since the answer was remembered")
        if row["contended"]:
            await self._tx.execute(SQL["touch"], ids, self._writing.requested_at)

    async def _put(self, rows: list[PlaceRow]) -> tuple[Versions, Versions]:
        """Writes what is new and what has changed; returns which was which, with its version."""
        extent, requested_at = self._writing.extent, self._writing.requested_at
        columns = _place_columns(rows)
        written = await self._tx.fetch(SQL["write"], *columns, requested_at, extent.source, extent.area)
        if len(written) < len(rows):
            await self._touch(columns[0])
        versions = sorted((row["external_id"], row["version"], row["is_added"]) for row in written)
        return (
            [(external_id, version) for external_id, version, is_added in versions if is_added],
            [(external_id, version) for external_id, version, is_added in versions if not is_added],
        )

    async def _remember(self, page: Page, rows: SettledRows) -> None:
        if self._writing.question and (answer := remembered(page, rows)):
            asked = self._writing.question, answer.decode(), self._writing.requested_at
            await self._tx.execute(SQL["remember"], *asked)

    async def _touch(self, external_ids: list[Any]) -> None:
        """Notes that places were seen, if others may bring an older state; otherwise unchanged places write nothing."""
        [row] = await self._tx.fetch(SQL[self._contended], *rivals(self._shard))
        if row["contended"]:
            await self._tx.execute(SQL["touch"], external_ids, self._writing.requested_at)


def _place_columns(rows: list[PlaceRow]) -> tuple[list[Any], ...]:
    external_ids, ids, places, records, hashes, numbers = zip(*rows, strict=True)
    return (
        list(external_ids),
        [pgproto.UUID(each) for each in ids],
        list(places),
        list(records),
        list(hashes),
        list(numbers),
    )


def _reject_columns(rows: list[RejectRow]) -> tuple[list[Any], ...]:
    return (
        [row.record_hash for row in rows],
        [row.record for row in rows],
        [jobs.storable(row.reason) for row in rows],
        [row.external_id and jobs.storable(row.external_id) for row in rows],
    )
