"""How a shard ends on PostgreSQL: step by step, inside the transactions that commit them."""

from typing import Any, assert_never
from uuid import UUID

from waypost.adapters.queries import load_queries
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

_SQL = load_queries(__package__, "pages.sql")


class PostgresPageEnding:
    def __init__(self, tx: Any, shard: str, writing: Writing) -> None:
        self._tx = tx
        self._shard = shard
        self._writing = writing
        self._area = shard, writing.extent.source, writing.extent.area
        self.removed: list[tuple[str, int]] = []
        self.refused: MassDelete | None = None

    async def go_on(self, state: Pass) -> Pass:
        """Takes steps as long as there is room in one commit, unless it is refused."""
        room = self._writing.room
        while not self.refused and (step := next_step(state, room)):
            did = await self._do(step)
            room -= cost(step, did)
            state = step.then(state, did)
        return state

    async def gather(self, gap: Gap, seen: list[str]) -> Gap | None:
        """Makes candidates of places that we hold in the gap and a page lacks; returns what is left of the gap."""
        did = await self._look_through("gather", gap, self._writing.room, seen)
        return gap.left_by(did, self._writing.room)

    async def _do(self, step: Step) -> Did:
        match step:
            case Sweep():
                did = await self._look_through("sweep", step.gap, step.limit, UUID(step.marks))
            case Doubt():
                did = await self._candidates(step.after, step.limit)
                once = missed_once(self._writing.extent)
                await self._tx.execute(_SQL["doubt"], self._shard, step.after, did.external_id, once)
            case Count():
                did = await self._candidates(step.after, step.limit)
            case Judge():
                self.refused = await self._judge(step)
                did = Did()
            case Remove():
                did = await self._candidates(step.after, step.limit)
                rows = await self._tx.fetch(_SQL["remove"], *self._area, step.after, did.external_id)
                self.removed += [(row["external_id"], row["version"]) for row in rows]
                await self._tx.execute(_SQL["forget_candidates"], self._shard, step.after, did.external_id)
            case Forget():
                did = await self._candidates(step.after, step.limit)
                await self._tx.execute(_SQL["forget_candidates"], self._shard, step.after, did.external_id)
            case Clear():
                did = await self._clear(step)
            case _:
                assert_never(step)
        return did

    async def _look_through(self, statement: str, gap: Gap, limit: int, seen: list[str] | UUID) -> Did:
        shard, source, area = self._area
        part = gap.number, gap.external_id, gap.end, limit
        rows = await self._tx.fetch(_SQL[statement], shard, gap.requested_at, source, area, *part, seen)
        return Did(rows[0]["rows"], rows[0]["number"], rows[0]["external_id"]) if rows else Did()

    async def _candidates(self, after: str, limit: int) -> Did:
        [row] = await self._tx.fetch(_SQL["next_candidates"], *self._area, after, limit)
        return Did(row["rows"], external_id=row["external_id"], going=row["going"])

    async def _judge(self, judged: Judge) -> MassDelete | None:
        name, others = import_of(self._shard), Others()
        if name and judged.going:
            await self._tx.execute(_SQL["lock_removals"], name)
            [row] = await self._tx.fetch(_SQL["others"], name, self._shard)
            others = Others(row["held"], row["going"])
        refused = mass_delete(self._shard, self._writing, judged, others)
        if name and not refused:
            await self._tx.execute(_SQL["note_removals"], name, self._shard, judged.held, judged.going)
        return refused

    async def _clear(self, step: Clear) -> Did:
        part = UUID(step.marks), step.after
        [row] = await self._tx.fetch(_SQL["next_marks"], *part, step.limit)
        await self._tx.execute(_SQL["clear"], *part, row["external_id"])
        return Did(row["rows"], external_id=row["external_id"])
