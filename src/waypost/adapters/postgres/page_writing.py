"""What a page changes on PostgreSQL."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from asyncpg.pgproto import pgproto

from waypost.adapters.page_rows import PlaceRow, RejectRow, Versions
from waypost.adapters.page_writing import PageWriting
from waypost.adapters.postgres import jobs
from waypost.adapters.postgres.page_ending import PostgresPageEnding
from waypost.adapters.queries import load_queries
from waypost.importing.pages import Writing, rivals
from waypost.scaling.event_outbox import Event
from waypost.scaling.jobs.job import Lease

SQL = load_queries(__package__, "pages.sql")


class PostgresPageWriting(PageWriting):
    """`contended` names the statement that says whether others may bring the same places at this moment."""

    def __init__(self, tx: Any, lease: Lease, writing: Writing, *, contended: str) -> None:
        super().__init__(lease, writing, PostgresPageEnding(tx, lease.shard, writing), datetime.now(UTC))
        self._tx = tx
        self._contended = contended

    async def _load_pass(self) -> str | None:
        rows = await self._tx.fetch(SQL["pass"], self._shard)
        return rows[0]["state"] if rows else None

    async def _keep_pass(self, state: str | None) -> None:
        if state is None:
            await self._tx.execute(SQL["forget_pass"], self._shard)
        else:
            await self._tx.execute(SQL["keep_pass"], self._shard, state)

    async def _put(self, rows: Sequence[PlaceRow], still: Sequence[str]) -> tuple[Versions, Versions]:
        if still:
            await self._see_again(sorted(still))
        if not rows:
            return [], []
        extent, requested_at = self._writing.extent, self._writing.requested_at
        columns = _place_columns(rows)
        written = await self._tx.fetch(SQL["write"], *columns, requested_at, extent.source, extent.area)
        if len(written) < len(rows) and await self._is_contended():
            # Otherwise unchanged places write nothing.
            await self._touch(columns[0])
        versions = sorted((row["external_id"], row["version"], row["is_added"]) for row in written)
        return (
            [(external_id, version) for external_id, version, is_added in versions if is_added],
            [(external_id, version) for external_id, version, is_added in versions if not is_added],
        )

    async def _see_again(self, still: list[str]) -> None:
        """Notes places that, as the provider says, are as they were when we last asked."""
        is_contended = await self._is_contended()
        if is_contended:
            await self._tx.fetch(SQL["hold_still"], still)
        if known_at := self._writing.known_at:
            [found] = await self._tx.fetch(SQL["unchanged_since"], still, known_at)
            if found["unchanged"] < len(still):
                raise self._outdated()
        if is_contended:
            await self._touch(still)

    async def _is_contended(self) -> bool:
        [row] = await self._tx.fetch(SQL[self._contended], *rivals(self._shard))
        return bool(row["contended"])

    async def _touch(self, external_ids: list[Any]) -> None:
        """Notes that places were seen, for others that may bring an older state."""
        await self._tx.execute(SQL["touch"], external_ids, self._writing.requested_at)

    async def _reject(self, rows: Sequence[RejectRow]) -> None:
        await self._tx.execute(SQL["reject"], self._shard, *_reject_columns(rows))

    async def _remember(self, question: str, answer: str) -> None:
        await self._tx.execute(SQL["remember"], question, answer, self._writing.requested_at)

    async def _write_event(self, event: Event) -> None:
        told = UUID(event.id), event.name, event.subject, event.occurred_at, bytes(event.data).decode()
        await self._tx.execute(SQL["event"], *told)


def _place_columns(rows: Sequence[PlaceRow]) -> tuple[list[Any], ...]:
    external_ids, ids, places, records, hashes, numbers = zip(*rows, strict=True)
    return (
        list(external_ids),
        [pgproto.UUID(each) for each in ids],
        list(places),
        list(records),
        list(hashes),
        list(numbers),
    )


def _reject_columns(rows: Sequence[RejectRow]) -> tuple[list[Any], ...]:
    return (
        [row.record_hash for row in rows],
        [row.record for row in rows],
        [jobs.storable(row.reason) for row in rows],
        [row.external_id and jobs.storable(row.external_id) for row in rows],
    )
