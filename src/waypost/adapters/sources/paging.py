"""Pages of a list: where the next one is, ids that only grow, and totals that show whether it has changed."""

import hashlib
import re
from collections.abc import Iterable, Sequence

import msgspec

from waypost.importing.cuts import IdRange
from waypost.importing.source import OutsideScope
from waypost.scaling.jobs.shard_keys import ShardKey

_PARAMETER = r'\s*;\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?'
_LINK = re.compile(rf"<([^<>]*)>((?:{_PARAMETER})*)")
_ONE = re.compile(_PARAMETER)
_DIGITS = 18


def next_link(header: str | None) -> str | None:
    """What the first link with `rel=next` leads to; one link may have several relations, in any case."""
    for link in _LINK.finditer(header or ""):
        for name, quoted, plain in _ONE.findall(link[2]):
            if name.lower() == "rel" and "next" in (quoted or plain).lower().split():
                return link[1].strip()
    return None


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


class RecordTally(msgspec.Struct, frozen=True):
    """How many records have come, and how many there are in all; None unless each answer so far has said it."""

    read: int
    total: int | None


def count_on(before: RecordTally | None, count: int, total: int | None) -> RecordTally:
    """Adds one more page; `before` is None for the first one. A total smaller than what came does not count."""
    read = count + (before.read if before else 0)
    is_told = total is not None and total >= read and (before is None or before.total is not None)
    return RecordTally(read, total if is_told else None)


def how_it_moved(before: RecordTally | None, total: int | None) -> str | None:
    """Why the pages are not those of one list, if the total shows it."""
    if before is None or before.total is None or total is None or total == before.total:
        return None
    return f"the total changed from {before.total} to {total} while it was read"


def is_certain(before: RecordTally | None, now: RecordTally) -> bool:
    """Whether a list that has been read to its end is sure to be whole: one answer is, and several are if as many
    records came as all of them have stated.
    """
    return before is None or now.read == now.total


def digest_of(records: Iterable[msgspec.Raw]) -> str:
    """A provider that sends the same page again is known by it."""
    digest = hashlib.blake2s(digest_size=8)
    for record in records:
        digest.update(record)
    return digest.hexdigest()
