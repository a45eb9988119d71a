"""What a page changes on SQLite, inside the transaction that commits it."""

import sqlite3
from collections import Counter
from typing import Any

import msgspec

from waypost.adapters.page_rows import PageRows, PlaceRow, remembered, versioned
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import from_us, now_us, to_us
from waypost.importing.pages import Writing, refuse_mass_delete, rivals
from waypost.importing.source import Page
from waypost.places.events import PlacesChanged, places_changed

_SQL = load_queries(__package__, "pages.sql")

_Versions = list[tuple[str, int]]


class PageWriting:
    """`contended` names the statement that says whether others may bring the same places at this moment."""

    def __init__(self, tx: sqlite3.Connection, shard: str, writing: Writing, *, contended: str) -> None:
        self._tx = tx
        self._shard = shard
        self._writing = writing
        self._requested_at = to_us(writing.requested_at)
        self._now = now_us()
        self._contended = contended
        numbers = writing.extent.numbers
        self._extent = {
            "shard": shard,
            "source": writing.extent.source,
            "area": writing.extent.area,
            "start": numbers.start,
            "end": numbers.end,
            "requested_at": self._requested_at,
            "now": self._now,
        }

    def write(self, page: Page, rows: PageRows) -> Counter[str]:
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        self._look_for_the_gone(page, rows.seen)
        added, changed = self._put(rows.places, rows.still)
        self._tx.executemany(
            _SQL["reject"], [{"shard": self._shard, "now": self._now, **row._asdict()} for row in rows.rejects]
        )
        removed = self._remove() if page.last or self._writing.parts else []
        self._remember(page)
        changes = PlacesChanged(
            self._writing.extent.source, self._shard, versioned(added), versioned(changed), versioned(removed)
        )
        if not changes.is_empty:
            event = places_changed(changes, from_us(self._now))
            row = {"id": event.id, "name": event.name, "subject": event.subject, "data": bytes(event.data).decode()}
            self._tx.execute(_SQL["event"], {**row, "now": self._now})
        return rows.count(changes)

    def _look_for_the_gone(self, page: Page, seen: list[str]) -> None:
        ids = msgspec.json.encode(seen).decode()
        self._tx.execute(_SQL["strike"], {"seen": ids, "requested_at": self._requested_at})
        if page.hides_some:
            self._tx.execute(_SQL["forget_candidates"], self._extent)
        elif page.covers:
            covered = {"start": page.covers.start, "end": page.covers.end, "seen": ids}
            self._tx.execute(_SQL["gather"], {**self._extent, **covered})

    def _put(self, rows: list[PlaceRow], still: list[str]) -> tuple[_Versions, _Versions]:
        """Writes what is new and what has changed; returns which was which, with its version."""
        known = self._known([*still, *(row.external_id for row in rows)])
        added: _Versions = []
        changed: _Versions = []
        writes: list[dict[str, Any]] = []
        same = [external_id for external_id in still if external_id in known]
        for row in rows:
            before = known.get(row.external_id)
            if before is not None and not self._is_news(row, before):
                same.append(row.external_id)
                continue
            version = before["version"] + 1 if before else 1
            writes.append({**row._asdict(), **self._extent, "version": version})
            is_new = before is None or before["removed_at"] is not None
            (added if is_new else changed).append((row.external_id, version))
        self._tx.executemany(_SQL["put"], writes)
        self._touch([known[external_id] for external_id in same])
        return added, changed

    def _remember(self, page: Page) -> None:
        if self._writing.question and (answer := remembered(page)):
            asked = {"question": self._writing.question, "answer": answer.decode(), "requested_at": self._requested_at}
            self._tx.execute(_SQL["remember"], asked)

    def _known(self, external_ids: list[str]) -> dict[str, sqlite3.Row]:
        ids = msgspec.json.encode(external_ids).decode()
        return {row["external_id"]: row for row in self._tx.execute(_SQL["known"], {"external_ids": ids})}

    def _is_news(self, row: PlaceRow, before: Any) -> bool:
        """What a later request brought stands, however late this page comes."""
        if before["requested_at"] > self._requested_at:
            return False
        if before["removed_at"] is None:
            return bool(before["content_hash"] != row.content_hash)
        # That it was missing in one area says nothing about others.
        return bool(before["area"] != self._writing.extent.area or before["removed_at"] < self._requested_at)

    def _touch(self, same: list[Any]) -> None:
        """Only while somebody else may bring an older state of them; otherwise what is unchanged writes nothing."""
        older = [row for row in same if row["removed_at"] is None and row["requested_at"] < self._requested_at]
        if not older:
            return
        prefix, period = rivals(self._shard)
        rival = {"prefix": prefix, "period": period, "now": self._now}
        if self._tx.execute(_SQL[self._contended], rival).fetchone()["contended"]:
            touched = [{"external_id": row["external_id"], "requested_at": self._requested_at} for row in older]
            self._tx.executemany(_SQL["touch"], touched)

    def _remove(self) -> _Versions:
        going = self._tx.execute(_SQL["going"], self._extent).fetchone()["going"]
        removed: _Versions = []
        if going:
            held = self._tx.execute(_SQL["held"], self._extent).fetchone()["held"]
            refuse_mass_delete(self._shard, self._writing, going=going, held=held)
            rows = self._tx.execute(_SQL["remove"], self._extent).fetchall()
            removed = sorted((row["external_id"], row["version"]) for row in rows)
        self._tx.execute(_SQL["forget_candidates"], self._extent)
        return removed
