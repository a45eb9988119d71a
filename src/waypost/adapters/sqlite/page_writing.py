"""What a page changes on SQLite, inside the transaction that commits it."""

import sqlite3
from collections import Counter
from typing import Any

import msgspec

from waypost.adapters.page_rows import (
    PageRows,
    PlaceRow,
    SettledRows,
    Versions,
    changes_of,
    is_news,
    moved_by,
    remembered,
)
from waypost.adapters.pass_outcomes import Outcome, concluded, decode_pass, encode_pass
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import now_us
from waypost.adapters.sqlite.page_ending import SqlitePageEnding
from waypost.importing.pages import OutdatedAnswer, Writing, rivals
from waypost.importing.passes import Gap, Pass
from waypost.importing.refusals import too_many_rejected
from waypost.importing.source import Page
from waypost.kernel.clock import from_us, to_us
from waypost.kernel.errors import TerminalError
from waypost.places.events import PlacesChanged, places_changed
from waypost.scaling.jobs.job import Lease

_SQL = load_queries(__package__, "pages.sql")


class SqlitePageWriting:
    """`contended` names the statement that says whether others may bring the same places at this moment."""

    def __init__(self, tx: sqlite3.Connection, lease: Lease, writing: Writing, *, contended: str) -> None:
        self._tx = tx
        self._lease = lease
        self._shard = shard = lease.shard
        self._writing = writing
        self._requested_at = to_us(writing.requested_at)
        self._now = now_us()
        self._contended = contended
        self._ending = SqlitePageEnding(tx, shard, writing)
        self._extent = {
            "shard": shard,
            "source": writing.extent.source,
            "area": writing.extent.area,
            "requested_at": self._requested_at,
            "now": self._now,
        }

    def write(self, page: Page, rows: PageRows) -> Outcome:
        state = self._load().reading(page, self._writing.extent, self._writing.requested_at)
        # What is gone is looked for before anything is written, so that a first import finds nothing to look through.
        state = self._look_for_the_gone(state, page, rows.seen)
        again = self._mark(state.marks, rows.marks(state.records)) if state.marks else {}
        settled = rows.settled(state.records, again)
        state = msgspec.structs.replace(state, unsure=state.unsure or moved_by(again, page))
        added, changed = self._put(settled.places, rows.still)
        self._tx.executemany(
            _SQL["reject"], [{"shard": self._shard, "now": self._now, **row._asdict()} for row in settled.rejects]
        )
        self._remember(page, settled)
        state = settled.noted_in(state, len(added))
        error = None
        if page.last or self._writing.parts:
            error = too_many_rejected(self._shard, self._writing, state)
            state = state if error else self._ending.go_on(state.ending(page, self._writing.parts))
        changes = self._tell(added, changed)
        return self._keep(settled.count(changes), state, error)

    def go_on(self) -> Outcome:
        state = self._ending.go_on(self._load())
        changes = self._tell([], [])
        return self._keep(Counter(removed=len(changes.removed)), state, None)

    def _load(self) -> Pass:
        row = self._tx.execute(_SQL["pass"], {"shard": self._shard}).fetchone()
        return decode_pass(row["state"] if row else None, self._lease)

    def _keep(self, counted: Counter[str], state: Pass, error: TerminalError | None) -> Outcome:
        outcome = concluded(counted, state, error or self._ending.refused)
        if outcome.is_over:
            self._tx.execute(_SQL["forget_pass"], self._extent)
        else:
            self._tx.execute(_SQL["keep_pass"], {**self._extent, "state": encode_pass(outcome.state)})
        return outcome

    def _tell(self, added: Versions, changed: Versions) -> PlacesChanged:
        """Writes one event for all that the commit changes."""
        changes = changes_of(self._shard, self._writing, added, changed, self._ending.removed)
        if not changes.is_empty:
            event = places_changed(changes, from_us(self._now))
            row = {"id": event.id, "name": event.name, "subject": event.subject, "data": bytes(event.data).decode()}
            self._tx.execute(_SQL["event"], {**row, "now": self._now})
        return changes

    def _look_for_the_gone(self, state: Pass, page: Page, seen: list[str]) -> Pass:
        ids = msgspec.json.encode(seen).decode()
        self._tx.execute(_SQL["strike"], {"seen": ids, "requested_at": self._requested_at})
        if not page.covers or state.unsure or any(gap.is_open for gap in state.gaps):
            return state
        covered = Gap(page.covers.start, "", page.covers.end, self._writing.requested_at)
        rest = self._ending.gather(covered, seen)
        return state.leaving(rest) if rest else state

    def _mark(self, name: str, positions: dict[str, int]) -> dict[str, int]:
        """Marks what the pass sees; returns those that it has seen before, and where."""
        ids = msgspec.json.encode(list(positions)).decode()
        before = {
            row["external_id"]: row["position"] for row in self._tx.execute(_SQL["marked"], {"pass": name, "seen": ids})
        }
        again = {each: before[each] for each in before if before[each] > 0 or positions[each] < 0}
        fresh = [
            {"pass": name, "external_id": external_id, "position": position}
            for external_id, position in positions.items()
            if external_id not in again
        ]
        self._tx.executemany(_SQL["mark"], fresh)
        return again

    def _put(self, rows: list[PlaceRow], still: list[str]) -> tuple[Versions, Versions]:
        """Writes what is new and what has changed; returns which was which, with its version."""
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

    def _refuse_outdated(self, still: list[str]) -> None:
        if still and self._writing.known_at:
            known = {"still": msgspec.json.encode(still).decode(), "known_at": to_us(self._writing.known_at)}
            if self._tx.execute(_SQL["changed_since"], known).fetchone()["changed"]:
                raise OutdatedAnswer(f"{self._shard}: places have changed since the answer was remembered")

    def _remember(self, page: Page, rows: SettledRows) -> None:
        if self._writing.question and (answer := remembered(page, rows)):
            asked = {"question": self._writing.question, "answer": answer.decode(), "requested_at": self._requested_at}
            self._tx.execute(_SQL["remember"], asked)

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
