"""How a shard ends on PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from waypost.adapters.page_ending import PageEnding, Taking
from waypost.adapters.queries import load_queries
from waypost.importing.pages import Writing
from waypost.importing.passes import Clear, Did, Doubt, Forget, Gap, Judge, Remove, missed_once
from waypost.importing.refusals import Others

_SQL = load_queries(__package__, "pages.sql")


class PostgresPageEnding(PageEnding):
    def __init__(self, tx: Any, shard: str, writing: Writing) -> None:
        super().__init__(shard, writing)
        self._tx = tx
        self._area = shard, writing.extent.source, writing.extent.area

    async def strike(self, seen: Sequence[str]) -> None:
        await self._tx.execute(_SQL["strike"], seen, self._writing.requested_at)

    async def _marked(self, name: str, external_ids: Sequence[str]) -> dict[str, int]:
        rows = await self._tx.fetch(_SQL["marked"], UUID(name), external_ids)
        return {row["external_id"]: row["position"] for row in rows}

    async def _set_marks(self, name: str, new: Mapping[str, int], changed: Mapping[str, int]) -> None:
        marks = {**new, **changed}
        await self._tx.execute(_SQL["mark"], UUID(name), list(marks), list(marks.values()))

    async def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        shard, source, area = self._area
        part = gap.number, gap.external_id, gap.end, limit
        statement, known = ("sweep", UUID(seen)) if isinstance(seen, str) else ("gather", list(seen))
        rows = await self._tx.fetch(_SQL[statement], shard, gap.requested_at, source, area, *part, known)
        return Did(rows[0]["rows"], rows[0]["number"], rows[0]["external_id"]) if rows else Did()

    async def _take(self, step: Taking) -> Did:
        [row] = await self._tx.fetch(_SQL["next_candidates"], *self._area, step.after, step.limit)
        span = step.after, row["external_id"]
        if isinstance(step, Doubt):
            await self._tx.execute(_SQL["doubt"], self._shard, *span, missed_once(self._writing.extent))
        if isinstance(step, Remove):
            rows = await self._tx.fetch(_SQL["remove"], *self._area, *span)
            self.removed += [(each["external_id"], each["version"]) for each in rows]
        if isinstance(step, Remove | Forget):
            await self._tx.execute(_SQL["forget_candidates"], self._shard, *span)
        return Did(row["rows"], external_id=row["external_id"], going=row["going"])

    async def _clear(self, step: Clear) -> Did:
        part = UUID(step.marks), step.after
        [row] = await self._tx.fetch(_SQL["next_marks"], *part, step.limit)
        await self._tx.execute(_SQL["clear"], *part, row["external_id"])
        return Did(row["rows"], external_id=row["external_id"])

    async def _others(self, name: str) -> Others:
        await self._tx.execute(_SQL["lock_removals"], name)
        [row] = await self._tx.fetch(_SQL["others"], name, self._shard)
        return Others(row["held"], row["going"])

    async def _note_removals(self, name: str, judged: Judge) -> None:
        await self._tx.execute(_SQL["note_removals"], name, self._shard, judged.held, judged.going)
