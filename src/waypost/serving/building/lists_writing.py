"""Writes files of lists: the values of a field, each with the rows that have it."""

from array import array
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.serving.format import ALIGNMENT, ListsLayout

RowNumbers = NDArray[np.uint32]
Pairs = NDArray[np.uint64]
_ROW_BITS = np.uint64(32)
# About how many bytes a value takes in a dictionary, and a pair in its arrays.
_VALUE, _PAIR = 160, 8


class Listed(msgspec.Struct, frozen=True, eq=False):
    """Ascending values, the number of rows of each, and all their rows, value after value."""

    values: Sequence[bytes]
    counts: NDArray[np.uint64]
    rows: RowNumbers

    @property
    def layout(self) -> ListsLayout:
        return ListsLayout(len(self.values), len(self.rows), sum(map(len, self.values)))

    def pieces(self) -> Iterator[bytes]:
        """Yields the file, part by part."""
        sizes = np.fromiter(map(len, self.values), dtype=np.uint64, count=len(self.values))
        yield from opening(self.layout)
        yield from padded(starts(sizes).tobytes())
        yield from padded(starts(self.counts).tobytes())
        yield from padded(b"".join(self.values))
        yield self.rows.astype("<u4").tobytes()


class FieldValues:
    """Collects one field's values as places come: a number for each value, and pairs of these numbers and rows."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._hits = array("I")
        self._rows = array("I")

    @property
    def held(self) -> int:
        return _VALUE * len(self._numbers) + _PAIR * len(self._hits)

    @property
    def values(self) -> list[str]:
        # Sorted text is also sorted by its UTF-8 bytes.
        return sorted(self._numbers)

    def add(self, row: int, *values: str) -> None:
        numbers, hits, rows = self._numbers, self._hits, self._rows
        for value in values:
            hits.append(numbers.setdefault(value, len(numbers)))
            rows.append(row)

    def listed(self, place_of: RowNumbers) -> Listed:
        """The lists of this field, with each row renumbered by `place_of`."""
        values = self.values
        ranks = np.empty(len(values), dtype=np.uint32)
        ranks[[self._numbers[value] for value in values]] = np.arange(len(values), dtype=np.uint32)
        hits, rows = np.frombuffer(self._hits, dtype=np.uint32), np.frombuffer(self._rows, dtype=np.uint32)
        return listed([value.encode() for value in values], pair(ranks[hits], place_of[rows]))


def pair(hits: RowNumbers, rows: RowNumbers) -> Pairs:
    """Packs each value's number and row into one number, so that they sort by value, then by row."""
    pairs: Pairs = hits.astype(np.uint64)
    pairs <<= _ROW_BITS
    pairs |= rows
    return pairs


def listed(values: Sequence[bytes], pairs: Pairs) -> Listed:
    """Makes lists from pairs in any order, which are sorted in place; a pair that comes twice counts once."""
    pairs.sort()
    is_again = pairs[1:] == pairs[:-1]
    if is_again.any():
        pairs = np.concatenate((pairs[:1], pairs[1:][~is_again]))
    ends = np.searchsorted(pairs, np.arange(len(values) + 1, dtype=np.uint64) << _ROW_BITS)
    return Listed(values, np.diff(ends).astype(np.uint64), pairs.astype(np.uint32))


def starts(sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Where each part begins, and at the end where the last one ends."""
    found = np.zeros(len(sizes) + 1, dtype="<u8")
    np.cumsum(sizes, out=found[1:])
    return found


def opening(where: ListsLayout) -> Iterator[bytes]:
    """The header of a file of lists."""
    return padded(np.array([where.values, where.rows, where.text_bytes, 0], dtype="<u8").tobytes())


def padded(part: bytes) -> Iterator[bytes]:
    """Yields a part, and padding up to where the next one may begin."""
    yield part
    if rest := -len(part) % ALIGNMENT:
        yield bytes(rest)
