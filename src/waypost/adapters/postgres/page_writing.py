"""What a page changes on PostgreSQL, inside the transaction that commits it."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg.pgproto import pgproto

from waypost.adapters.page_rows import PageRows, PlaceRow, RejectRow, remembered, versioned
from waypost.adapters.postgres import jobs
from waypost.adapters.queries import load_queries
from waypost.importing.pages import Writing, refuse_mass_delete, rivals
from waypost.importing.source import Page
from waypost.places.events import PlacesChanged, places_changed

SQL = load_queries(__package__, "pages.sql")

_Versions = list[tuple[str, int]]


class PageWriting:
    """`contended` names the statement that says whether others may bring the same places at this moment."""

    def __init__(self, tx: Any, shard: str, writing: Writing, *, contended: str) -> None:
        self._tx = tx
        self._shard = shard
        self._writing = writing
        self._contended = contended

    async def write(self, page: Page, rows: PageRows) -> Counter[str]:
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        await self._look_for_the_gone(page, rows.seen)
        added, changed = await self._put(rows.places) if rows.places else ([], [])
        if rows.still:
            await self._touch(rows.still)
        if rows.rejects:
            await self._tx.execute(SQL["reject"], self._shard, *_reject_columns(rows.rejects))
        removed = await self._remove() if page.last or self._writing.parts else []
        await self._remember(page)
        changes = PlacesChanged(
            self._writing.extent.source, self._shard, versioned(added), versioned(changed), versioned(removed)
        )
        if not changes.is_empty:
            event = places_changed(changes, datetime.now(UTC))
            await self._tx.execute(
                SQL["event"], UUID(event.id), event.name, event.subject, event.occurred_at, bytes(event.data).decode()
            )
        return rows.count(changes)

    async def _look_for_the_gone(self, page: Page, seen: list[str]) -> None:
        extent, requested_at = self._writing.extent, self._writing.requested_at
        if seen:
            await self._tx.execute(SQL["strike"], seen, requested_at)
        if page.hides_some:
            await self._tx.execute(SQL["forget_candidates"], self._shard)
        elif page.covers:
            numbers = page.covers.start, page.covers.end
            await self._tx.execute(SQL["gather"], self._shard, requested_at, extent.source, extent.area, *numbers, seen)

    async def _put(self, rows: list[PlaceRow]) -> tuple[_Versions, _Versions]:
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

    async def _remember(self, page: Page) -> None:
        if self._writing.question and (answer := remembered(page)):
            asked = self._writing.question, answer.decode(), self._writing.requested_at
            await self._tx.execute(SQL["remember"], *asked)

    async def _touch(self, external_ids: list[Any]) -> None:
        """Only while somebody else may bring an older state of them; otherwise what is unchanged writes nothing."""
        [row] = await self._tx.fetch(SQL[self._contended], *rivals(self._shard))
        if row["contended"]:
            await self._tx.execute(SQL["touch"], external_ids, self._writing.requested_at)

    async def _remove(self) -> _Versions:
        extent = self._writing.extent
        area = self._shard, extent.source, extent.area
        [row] = await self._tx.fetch(SQL["going"], *area)
        removed: _Versions = []
        if going := row["going"]:
            numbers = extent.numbers.start, extent.numbers.end
            [row] = await self._tx.fetch(SQL["held"], extent.source, extent.area, *numbers)
            refuse_mass_delete(self._shard, self._writing, going=going, held=row["held"])
            rows = await self._tx.fetch(SQL["remove"], *area)
            removed = sorted((row["external_id"], row["version"]) for row in rows)
        await self._tx.execute(SQL["forget_candidates"], self._shard)
        return removed


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
