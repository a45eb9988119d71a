"""What is shipped at a time: whole lines of a segment, read as visits where they can be."""

from collections.abc import Callable, Iterator

import msgspec

from waypost.sharing.visits.lines import read_line
from waypost.sharing.visits.visit import Visit

_TOO_LONG = "the line is longer than any visit; only its beginning is here"


class BadLine(msgspec.Struct, frozen=True):
    """A line that cannot be counted: where it begins in its segment, and why."""

    start: int
    reason: str


class SpooledVisit(msgspec.Struct, frozen=True):
    """A visit, and where its line begins in its segment."""

    start: int
    visit: Visit


class Batch(msgspec.Struct, frozen=True):
    spooled: list[SpooledVisit]
    bad: list[BadLine]
    size: int


def read_batch(lines: bytes, start: int, is_set_aside: Callable[[int], bool]) -> Batch:
    """Reads whole lines, the first of which begins at `start`, without those that were set aside before."""
    batch = Batch([], [], len(lines))
    for at, line in _starting(lines, start):
        if is_set_aside(at):
            continue
        try:
            batch.spooled.append(SpooledVisit(at, read_line(line)))
        except ValueError as error:
            batch.bad.append(BadLine(at, str(error)))
    return batch


def too_long(start: int, size: int, is_set_aside: Callable[[int], bool]) -> Batch:
    """A batch of one line that nobody reads as a whole: only damage makes one so long."""
    return Batch([], [] if is_set_aside(start) else [BadLine(start, _TOO_LONG)], size)


def _starting(lines: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    for line in lines.removesuffix(b"\n").split(b"\n"):
        yield start, line
        start += len(line) + 1
