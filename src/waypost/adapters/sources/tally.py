"""Lists that are read in several requests, and may change meanwhile: what their stated length shows of that."""

import hashlib
from collections.abc import Iterable

import msgspec


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
