"""How a shard ends on SQLite: step by step, inside the transactions that commit them."""

import sqlite3
from typing import Any, assert_never

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import now_us
from waypost.importing.pages import Writing
from waypost.importing.passes import (
    Clear,
    Count,
    Did,
    Doubt,
    Forget,
    Gap,
    Judge,
    Pass,
    Remove,
    Step,
    Sweep,
    cost,
    missed_once,
    next_step,
)
from waypost.importing.refusals import MassDelete, Others, import_of, mass_delete
from waypost.kernel.clock import to_us

_SQL = load_queries(__package__, "pages.sql")


class SqlitePageEnding:
    def __init__(self, tx: sqlite3.Connection, shard: str, writing: Writing) -> None:
        self._tx = tx
        self._shard = shard
        self._writing = writing
        self._area = {"shard": shard, "source": writing.extent.source, "area": writing.extent.area, "now": now_us()}
        self.removed: list[tuple[str, int]] = []
        self.refused: MassDelete | None = None

    def go_on(self, state: Pass) -> Pass:
        """Takes steps as long as there is room in one commit, unless it is refused."""
        room = self._writing.room
        while not self.refused and (step := next_step(state, room)):
            did = self._do(step)
            room -= cost(step, did)
            state = step.then(state, did)
        return state

    def gather(self, gap: Gap, seen: list[str]) -> Gap | None:
        """Makes candidates of places that we hold in the gap and a page lacks; returns what is left of the gap."""
        did = self._sweep(gap, frozenset(seen), self._writing.room)
        return gap.left_by(did, self._writing.room)

    def _do(self, step: Step) -> Did:
        match step:
            case Sweep():
                did = self._sweep(step.gap, step.marks, step.limit)
            case Doubt():
                did = self._candidates(step.after, step.limit)
                span = {**self._area, "after": step.after, "last": did.external_id}
                self._tx.execute(_SQL["doubt"], {**span, "once": missed_once(self._writing.extent)})
            case Count():
                did = self._candidates(step.after, step.limit)
            case Judge():
                self.refused = self._judge(step)
                did = Did()
            case Remove():
                did = self._candidates(step.after, step.limit)
                span = {**self._area, "after": step.after, "last": did.external_id}
                self.removed += [tuple(row) for row in self._tx.execute(_SQL["remove"], span)]
                self._tx.execute(_SQL["forget_candidates"], span)
            case Forget():
                did = self._candidates(step.after, step.limit)
                self._tx.execute(
                    _SQL["forget_candidates"], {**self._area, "after": step.after, "last": did.external_id}
                )
            case Clear():
                did = self._clear(step)
            case _:
                assert_never(step)
        return did

    def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        """`seen` has the ids that were seen, or the name of their marks."""
        part = {"number": gap.number, "external_id": gap.external_id, "end": gap.end, "limit": limit}
        held = self._tx.execute(_SQL["next_held"], {**self._area, **part}).fetchall()
        if not held:
            return Did()
        ids = [row["external_id"] for row in held]
        if isinstance(seen, str):
            marked = {"pass": seen, "seen": _json(ids)}
            seen = frozenset(row["external_id"] for row in self._tx.execute(_SQL["marked"], marked))
        lacking = {"lacking": _json([each for each in ids if each not in seen])}
        self._tx.execute(_SQL["gather"], {**self._area, **lacking, "requested_at": to_us(gap.requested_at)})
        return Did(len(held), held[-1]["number"], ids[-1])

    def _candidates(self, after: str, limit: int) -> Did:
        found = self._tx.execute(_SQL["next_candidates"], {**self._area, "after": after, "limit": limit}).fetchall()
        last = found[-1]["external_id"] if found else ""
        return Did(len(found), external_id=last, going=sum(row["goes"] for row in found))

    def _judge(self, judged: Judge) -> MassDelete | None:
        name = import_of(self._shard)
        about: dict[str, Any] = {**self._area, "import": name, **judged._asdict()}
        others = Others(*self._tx.execute(_SQL["others"], about).fetchone()) if name and judged.going else Others()
        refused = mass_delete(self._shard, self._writing, judged, others)
        if name and not refused:
            self._tx.execute(_SQL["note_removals"], about)
        return refused

    def _clear(self, step: Clear) -> Did:
        part = {"pass": step.marks, "after": step.after, "limit": step.limit}
        row = self._tx.execute(_SQL["next_marks"], part).fetchone()
        self._tx.execute(_SQL["clear"], {**part, "last": row["last"] or ""})
        return Did(row["rows"], external_id=row["last"] or "")


def _json(ids: list[str]) -> str:
    return msgspec.json.encode(ids).decode()
