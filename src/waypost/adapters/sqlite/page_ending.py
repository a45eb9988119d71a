"""How a shard ends on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from waypost.adapters.page_ending import PageEnding, Taking
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import now_us
from waypost.importing.pages import Writing
from waypost.importing.passes import Clear, Did, Doubt, Forget, Gap, Judge, Remove, missed_once
from waypost.importing.refusals import Others
from waypost.kernel.clock import to_us

_SQL = load_queries(__package__, "pages.sql")


class SqlitePageEnding(PageEnding):
    """Waits for nothing: it works in the thread that has the transaction."""

    def __init__(self, tx: sqlite3.Connection, shard: str, writing: Writing) -> None:
        super().__init__(shard, writing)
        self._tx = tx
        self._area = {"shard": shard, "source": writing.extent.source, "area": writing.extent.area, "now": now_us()}

    async def strike(self, seen: Sequence[str]) -> None:
        struck = {"seen": _json(seen), "requested_at": to_us(self._writing.requested_at)}
        self._tx.execute(_SQL["strike"], struck)

    async def _marked(self, name: str, external_ids: Sequence[str]) -> dict[str, int]:
        rows = self._tx.execute(_SQL["marked"], {"pass": name, "seen": _json(external_ids)})
        return {row["external_id"]: row["position"] for row in rows}

    async def _set_marks(self, name: str, new: Mapping[str, int], changed: Mapping[str, int]) -> None:
        marks = [{"pass": name, "external_id": each, "position": at} for each, at in {**new, **changed}.items()]
        self._tx.executemany(_SQL["mark"], marks)

    async def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        part = {"number": gap.number, "external_id": gap.external_id, "end": gap.end, "limit": limit}
        held = self._tx.execute(_SQL["next_held"], {**self._area, **part}).fetchall()
        if not held:
            return Did()
        ids = [row["external_id"] for row in held]
        if isinstance(seen, str):
            seen = frozenset(await self._marked(seen, ids))
        lacking = {"lacking": _json([each for each in ids if each not in seen])}
        self._tx.execute(_SQL["gather"], {**self._area, **lacking, "requested_at": to_us(gap.requested_at)})
        return Did(len(held), held[-1]["number"], ids[-1])

    async def _take(self, step: Taking) -> Did:
        part = {**self._area, "after": step.after, "limit": step.limit}
        found = self._tx.execute(_SQL["next_candidates"], part).fetchall()
        last = found[-1]["external_id"] if found else ""
        span = {**self._area, "after": step.after, "last": last}
        if isinstance(step, Doubt):
            self._tx.execute(_SQL["doubt"], {**span, "once": missed_once(self._writing.extent)})
        if isinstance(step, Remove):
            self.removed += [tuple(row) for row in self._tx.execute(_SQL["remove"], span)]
        if isinstance(step, Remove | Forget):
            self._tx.execute(_SQL["forget_candidates"], span)
        return Did(len(found), external_id=last, going=sum(row["goes"] for row in found))

    async def _clear(self, step: Clear) -> Did:
        part = {"pass": step.marks, "after": step.after, "limit": step.limit}
        row = self._tx.execute(_SQL["next_marks"], part).fetchone()
        self._tx.execute(_SQL["clear"], {**part, "last": row["last"] or ""})
        return Did(row["rows"], external_id=row["last"] or "")

    async def _others(self, name: str) -> Others:
        return Others(*self._tx.execute(_SQL["others"], {**self._area, "import": name}).fetchone())

    async def _note_removals(self, name: str, judged: Judge) -> None:
        self._tx.execute(_SQL["note_removals"], {**self._area, "import": name, **judged._asdict()})


def _json(ids: Sequence[str]) -> str:
    return msgspec.json.encode(ids).decode()
