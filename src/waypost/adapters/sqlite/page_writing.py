"""What a page changes on SQLite."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from waypost.adapters.page_rows import PlaceRow, RejectRow, Versions, is_news
from waypost.adapters.page_writing import PageWriting
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import now_us
from waypost.adapters.sqlite.page_ending import SqlitePageEnding
from waypost.importing.pages import Writing, rivals
from waypost.kernel.clock import from_us, to_us
from waypost.scaling.event_outbox import Event
from waypost.scaling.jobs.job import Lease

_SQL = load_queries(__package__, "pages.sql")


class SqlitePageWriting(PageWriting):
    """`contended` names the statement that says whether others may bring the same places at this moment.

    Waits for nothing: it works in the thread that has the transaction.
    """

    def __init__(self, tx: sqlite3.Connection, lease: Lease, writing: Writing, *, contended: str) -> None:
        self._now = now_us()
        super().__init__(lease, writing, SqlitePageEnding(tx, lease.shard, writing), from_us(self._now))
        self._tx = tx
        self._requested_at = to_us(writing.requested_at)
        self._contended = contended
        self._extent = {
            "shard": lease.shard,
            "source": writing.extent.source,
            "area": writing.extent.area,
            "requested_at": self._requested_at,
            "now": self._now,
        }

    async def _load_pass(self) -> str | None:
        row = self._tx.execute(_SQL["pass"], {"shard": self._shard}).fetchone()
        return row["state"] if row else None

    async def _keep_pass(self, state: str | None) -> None:
        if state is None:
            self._tx.execute(_SQL["forget_pass"], self._extent)
        else:
            self._tx.execute(_SQL["keep_pass"], {**self._extent, "state": state})

    async def _put(self, rows: Sequence[PlaceRow], still: Sequence[str]) -> tuple[Versions, Versions]:
        self._refuse_outdated(still)
        known = self._known([*still, *(row.external_id for row in rows)])
        added: Versions = []
        changed: Versions = []
        writes: list[dict[str, Any]] = []
        same = [external_id for external_id in still if external_id in known]
        for row in rows:
            before = known.get(row.external_id)
            if before is not None and not is_news(row, before, self._writing.extent.area, self._requested_at):
                same.append(row.external_id)
                continue
            version = before["version"] + 1 if before else 1
            writes.append({**row._asdict(), **self._extent, "version": version})
            is_new = before is None or before["removed_at"] is not None
            (added if is_new else changed).append((row.external_id, version))
        self._tx.executemany(_SQL["put"], writes)
        self._touch([known[external_id] for external_id in same])
        return added, changed

    def _refuse_outdated(self, still: Sequence[str]) -> None:
        if still and self._writing.known_at:
            known = {"still": msgspec.json.encode(still).decode(), "known_at": to_us(self._writing.known_at)}
            if self._tx.execute(_SQL["changed_since"], known).fetchone()["changed"]:
                raise self._outdated()

    async def _reject(self, rows: Sequence[RejectRow]) -> None:
        rejects = [{"shard": self._shard, "now": self._now, **row._asdict()} for row in rows]
        self._tx.executemany(_SQL["reject"], rejects)

    async def _remember(self, question: str, answer: str) -> None:
        asked = {"question": question, "answer": answer, "requested_at": self._requested_at}
        self._tx.execute(_SQL["remember"], asked)

    async def _write_event(self, event: Event) -> None:
        row = {"id": event.id, "name": event.name, "subject": event.subject, "data": bytes(event.data).decode()}
        self._tx.execute(_SQL["event"], {**row, "now": self._now})

    def _known(self, external_ids: list[str]) -> dict[str, sqlite3.Row]:
        ids = msgspec.json.encode(external_ids).decode()
        return {row["external_id"]: row for row in self._tx.execute(_SQL["known"], {"external_ids": ids})}

    def _touch(self, same: list[Any]) -> None:
        """Notes that places were seen, if others may bring an older state; otherwise unchanged places write nothing."""
        older = [row for row in same if row["removed_at"] is None and row["requested_at"] < self._requested_at]
        if not older:
            return
        prefix, period = rivals(self._shard)
        rival = {"prefix": prefix, "period": period, "now": self._now}
        if self._tx.execute(_SQL[self._contended], rival).fetchone()["contended"]:
            touched = [{"external_id": row["external_id"], "requested_at": self._requested_at} for row in older]
            self._tx.executemany(_SQL["touch"], touched)
