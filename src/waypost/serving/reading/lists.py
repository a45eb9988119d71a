"""Reads files of lists: the values of a field in order, each with the rows that have it."""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from waypost.serving import format as layout
from waypost.serving.format import ALIGNMENT, SnapshotBroken
from waypost.serving.reading.mapped import Mapped, ascends

Rows = NDArray[np.uint32]
# Larger than any byte of UTF-8, so that a prefix followed by it sorts after everything that begins with the prefix.
_PAST = b"\xff"
_HEADER = 32
_STEP = 1 << 18


class Lists:
    """One mapped file of lists."""

    def __init__(self, mapped: Mapped, where: layout.ListsLayout) -> None:
        view = memoryview(mapped)
        self._mapped = mapped
        self._texts = where.texts
        self._texts_at = view[where.texts_at :][: 8 * (where.values + 1)].cast("Q")
        self._rows_at = view[where.rows_at :][: 8 * (where.values + 1)].cast("Q")
        self.rows: Rows = np.frombuffer(mapped, dtype="<u4", count=where.rows, offset=where.first_row)
        self.numbers = range(where.values)

    @property
    def starts(self) -> NDArray[np.uint64]:
        """Where each value's rows begin, and where the last one's end."""
        return np.frombuffer(self._rows_at, dtype="<u8")

    def text(self, number: int) -> bytes:
        at = self._texts
        return self._mapped[at + self._texts_at[number] : at + self._texts_at[number + 1]]

    def having(self, value: str) -> Rows:
        """The rows with this value."""
        wanted = _encoded(value)
        number = self._first(wanted)
        if number == len(self.numbers) or self.text(number) != wanted:
            return self.rows[:0]
        return self.rows[self._rows_at[number] : self._rows_at[number + 1]]

    def beginning(self, prefix: str) -> tuple[Rows, bool]:
        """The rows of all values that begin with this, and whether it is at most one value; else rows may come twice,
        in no order.
        """
        wanted = _encoded(prefix)
        first, end = self._first(wanted), self._first(wanted + _PAST)
        return self.rows[self._rows_at[first] : self._rows_at[end]], end - first <= 1

    def _first(self, wanted: bytes) -> int:
        return bisect_left(self.numbers, wanted, key=self.text)


def open_lists(path: Path, mapped: Mapped, *, count: int, values: int | None) -> Lists:
    """Opens a file of lists. Raises SnapshotBroken if anything in it points outside it."""
    where = _header(path, mapped)
    if where.values != values:
        raise SnapshotBroken(path, f"has {where.values:,} values, and the manifest says {values}")
    if where.size != len(mapped):
        raise SnapshotBroken(path, f"is not of the size that {where.values:,} values take")
    lists = Lists(mapped, where)
    for part, end in ((where.texts_at, where.text_bytes), (where.rows_at, where.rows)):
        starts = np.frombuffer(mapped, dtype="<u8", count=where.values + 1, offset=part)
        if int(starts[0]) != 0 or int(starts[-1]) != end or not ascends(starts):
            raise SnapshotBroken(path, "is damaged: its values do not follow each other")
    if not all(_in_order(lists, count)):
        raise SnapshotBroken(path, "is damaged: it lists rows that do not exist, or in the wrong order")
    return lists


def _header(path: Path, mapped: Mapped) -> layout.ListsLayout:
    if len(mapped) < ALIGNMENT:
        raise SnapshotBroken(path, "is shorter than its header")
    values, rows, text_bytes, nothing = memoryview(mapped)[:_HEADER].cast("Q")
    if nothing:
        raise SnapshotBroken(path, "is damaged: its header is invalid")
    return layout.ListsLayout(values, rows, text_bytes)


def _in_order(lists: Lists, count: int) -> Iterator[bool]:
    """Checks that rows ascend except where another value begins; in steps, so that a large file takes no memory."""
    rows, starts = lists.rows, lists.starts
    for at in range(0, len(rows), _STEP):
        step = rows[at : at + _STEP + 1]
        falls = (np.flatnonzero(step[1:] <= step[:-1]) + (at + 1)).astype(np.uint64)
        yield int(step.max()) < count
        yield bool((starts[starts.searchsorted(falls)] == falls).all())


def _encoded(text: str) -> bytes:
    """Encodes a text to look for; a lone surrogate is in no value, so it finds none."""
    return text.encode("utf-8", "surrogatepass")
