"""How a shard is split: what a provider truncates, or what is too large for one worker, becomes several shards.

Together, the parts of a shard hold exactly what it held, and no two of them overlap.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from waypost.importing.geography import Cell
from waypost.importing.windows import Window
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

# The axes along which a source's shards can be cut.
Axis = Literal["ids", "box", "window"]

_RANGE = re.compile(r"(0|[1-9]\d{0,17})\.\.(0|[1-9]\d{0,17})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class IdRange:
    """Ids from `start` up to, but not including, `end`; without an end, also those that are yet to come."""

    start: int = 0
    end: int | None = None

    def __str__(self) -> str:
        return f"{self.start}..{'' if self.end is None else self.end}"

    def __contains__(self, number: int) -> bool:
        return self.start <= number and not self.is_past(number)

    def is_past(self, number: int) -> bool:
        return self.end is not None and number >= self.end

    @classmethod
    def parse(cls, text: str) -> "IdRange":
        match = _RANGE.fullmatch(text)
        if not match:
            raise BadShardKey(
                f"{text!r} is not a range of ids; it should look like 1000..2000, or 2000.. without an end"
            )
        found = cls(int(match[1]), int(match[2]) if match[2] else None)
        if found.is_past(found.start):
            raise BadShardKey(f"the range of ids {text!r} ends before it starts")
        return found

    def halves(self, highest_id: int | None) -> tuple["IdRange", ...]:
        """Cuts the range in two. One without an end is cut in the middle of the known ids; its second half stays open.

        Returns nothing for a single id, and for a range without an end whose highest id is unknown.
        """
        end = self.end
        if end is None and highest_id is not None:
            end = highest_id + 1
        if end is None or end - self.start <= 1:
            return ()
        middle = (self.start + end) // 2
        return IdRange(self.start, middle), IdRange(middle, self.end)


def split(shard: ShardKey, axes: Collection[Axis], *, highest_id: int | None = None) -> tuple[ShardKey, ...]:
    """The parts of a shard: quarters of its box, else halves of its window, else halves of its ids.

    `axes` is what its source can cut, `highest_id` the highest id seen in it. Empty when it cannot be cut any further.
    """
    # Once cut by id, a shard stays with ids: it came to them because its box and its window could not be cut further.
    if "ids" not in shard.axes:
        if "box" in axes and "box" in shard.axes and (quarters := Cell.parse(shard["box"]).quarters()):
            return tuple(shard.having("box", cell) for cell in quarters)
        if "window" in axes and "window" in shard.axes and (halves := Window.parse(shard["window"]).halves()):
            return tuple(shard.having("window", window) for window in halves)
    if "ids" not in axes:
        return ()
    ids = IdRange.parse(shard["ids"]) if "ids" in shard.axes else IdRange()
    return tuple(shard.having("ids", half) for half in ids.halves(highest_id))
