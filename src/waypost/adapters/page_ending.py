"""How a shard ends, step by step, inside the transactions that commit the steps; each backend says how it takes one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import assert_never

from waypost.importing import passes
from waypost.importing.pages import Writing
from waypost.importing.passes import Did, Gap, Pass
from waypost.importing.refusals import MassDelete, Others, import_of, mass_delete

# Steps that look through candidates.
Taking = passes.Doubt | passes.Count | passes.Remove | passes.Forget


class PageEnding(ABC):
    def __init__(self, shard: str, writing: Writing) -> None:
        self._shard = shard
        self._writing = writing
        self.removed: list[tuple[str, int]] = []
        self.refused: MassDelete | None = None

    async def go_on(self, state: Pass) -> Pass:
        """Takes steps as long as there is room in one commit, unless it is refused."""
        room = self._writing.room
        while not self.refused and (step := passes.next_step(state, room)):
            did = await self._do(step)
            room -= passes.cost(step, did)
            state = step.then(state, did)
        return state

    async def gather(self, gap: Gap, seen: Sequence[str]) -> Gap | None:
        """Makes candidates of places that we hold in the gap and a page lacks; returns what is left of the gap."""
        did = await self._sweep(gap, frozenset(seen), self._writing.room)
        return gap.left_by(did, self._writing.room)

    async def mark(self, name: str, positions: Mapping[str, int]) -> dict[str, int]:
        """Marks what the pass sees; returns those that it has seen before, and where."""
        before = await self._marked(name, list(positions))
        again = {each: before[each] for each in before if before[each] > 0 or positions[each] < 0}
        new = {each: position for each, position in positions.items() if each not in before}
        await self._set_marks(name, new, {each: positions[each] for each in before if each not in again})
        return again

    async def _do(self, step: passes.Step) -> Did:
        match step:
            case passes.Sweep():
                return await self._sweep(step.gap, step.marks, step.limit)
            case passes.Doubt() | passes.Count() | passes.Remove() | passes.Forget():
                return await self._take(step)
            case passes.Judge():
                self.refused = await self._judge(step)
                return Did()
            case passes.Clear():
                return await self._clear(step)
            case _:
                assert_never(step)

    async def _judge(self, judged: passes.Judge) -> MassDelete | None:
        name = import_of(self._shard)
        others = await self._others(name) if name and judged.going else Others()
        refused = mass_delete(self._shard, self._writing, judged, others)
        if name and not refused:
            await self._note_removals(name, judged)
        return refused

    @abstractmethod
    async def strike(self, seen: Sequence[str]) -> None:
        """Drops candidates that the page has: they are not gone, whichever shard missed them."""

    @abstractmethod
    async def _marked(self, name: str, external_ids: Sequence[str]) -> dict[str, int]:
        """Returns which of these are marked, and where they were seen."""

    @abstractmethod
    async def _set_marks(self, name: str, new: Mapping[str, int], changed: Mapping[str, int]) -> None: ...

    @abstractmethod
    async def _sweep(self, gap: Gap, seen: frozenset[str] | str, limit: int) -> Did:
        """Makes candidates of places in a gap that were not seen; `seen` has ids, or the name of their marks."""

    @abstractmethod
    async def _take(self, step: Taking) -> Did:
        """Looks through the next candidates, and does with them what the step says."""

    @abstractmethod
    async def _clear(self, step: passes.Clear) -> Did: ...

    @abstractmethod
    async def _others(self, name: str) -> Others:
        """What the import's other shards have held and removed; no other shard is judged until we have noted ours."""

    @abstractmethod
    async def _note_removals(self, name: str, judged: passes.Judge) -> None: ...
