"""Pages that follow ids: numbers that only grow, so that what lies between two of them is known to be all there is."""

from collections.abc import Iterable, Sequence

from waypost.importing.cuts import IdRange
from waypost.importing.source import OutsideScope
from waypost.scaling.jobs.shard_keys import ShardKey

_DIGITS = 18


def read_number(text: str) -> int:
    """An id as a number. Raises ValueError."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text)):
        raise ValueError(f"its id {text[:40]!r} is not a number from 1 to {10**_DIGITS - 1}, as pages by id need it")
    return int(text)


def refuse_disorder(ids: Iterable[int], after: int) -> None:
    """Raises OutsideScope for ids that go back: those in between would be skipped, and taken for deleted.

    The same id twice in a row skips nothing.
    """
    highest = after
    for number in ids:
        if number <= after or number < highest:
            follows = f" after {highest}" if highest > after else ""
            raise OutsideScope(
                f"asked for ids above {after} in ascending order, the provider sent {number}{follows}:"
                " does something on the way to it drop the parameters that sort?"
            )
        highest = number


def ids_after(shard: ShardKey, ids: IdRange, after: int) -> Sequence[ShardKey]:
    """Cuts what is left of a shard after an id in two: in the middle, or, if it is unknown how far the ids go, after as
    many as there were before it.
    """
    left = IdRange(after + 1, ids.end)
    return [shard.having("ids", part) for part in left.halves(2 * after - ids.start + 1)]
