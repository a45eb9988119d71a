"""Merges the lists of runs: each field's values in order, with the rows that have them after merging."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.serving.building.lists_writing import Listed, RowNumbers, listed, opening, padded, pair, starts
from waypost.serving.building.runs import Run, Stretch
from waypost.serving.format import ListsLayout


class Values(msgspec.Struct, frozen=True):
    """A stretch of a field's values: from `first` up to, but not including, `last`."""

    first: bytes | None = None
    last: bytes | None = None


def value_ranges(runs: Sequence[Run], field: str, wanted: int) -> list[Values]:
    """Cuts a field's values into about `wanted` stretches with about the same number of rows each."""
    found: set[bytes] = set()
    for run in runs:
        lists = _Lists(run, run.lists[field])
        for at in range(1, wanted):
            value = int(np.searchsorted(lists.rows_at, lists.where.rows * at // wanted))
            if value < lists.where.values:
                found.add(lists.text(value))
    ordered = sorted(found)
    ends = sorted({ordered[len(ordered) * at // wanted] for at in range(1, wanted)} if ordered else ())
    return [Values(first, last) for first, last in zip([None, *ends], [*ends, None], strict=True)]


def list_values(runs: Sequence[Run], field: str, stretch: Values) -> Listed:
    """A field's values in all runs, with their rows as numbered after merging."""
    parts = [_Lists(run, run.lists[field]).between(stretch) for run in runs]
    values = sorted({value for part in parts for value in part.values})
    numbers = {value: number for number, value in enumerate(values)}
    pairs = np.empty(sum(part.rows for part in parts), dtype=np.uint64)
    end = 0
    for part in parts:
        begin, end = end, end + part.rows
        hits = np.repeat(_numbered(part.values, numbers), part.counts)
        pairs[begin:end] = pair(hits, part.gone_to())
    del numbers
    return listed(values, pairs)


def _numbered(values: Sequence[bytes], numbers: Mapping[bytes, int]) -> RowNumbers:
    return np.fromiter(map(numbers.__getitem__, values), dtype=np.uint32, count=len(values))


class _Lists:
    """The lists of one field in a run."""

    def __init__(self, run: Run, stretch: Stretch) -> None:
        self._run = run
        self._at = stretch.at
        self.where = stretch.where
        with Path(run.path).open("rb") as file:
            file.seek(self._at + self.where.texts_at)
            self._texts_at = np.frombuffer(file.read(8 * (self.where.values + 1)), dtype="<u8")
            file.seek(self._at + self.where.rows_at)
            self.rows_at = np.frombuffer(file.read(8 * (self.where.values + 1)), dtype="<u8")
            file.seek(self._at + self.where.texts)
            self._texts = file.read(self.where.text_bytes)

    def text(self, value: int) -> bytes:
        return self._texts[int(self._texts_at[value]) : int(self._texts_at[value + 1])]

    def between(self, stretch: Values) -> "_Part":
        numbers = range(self.where.values)
        first = 0 if stretch.first is None else bisect_left(numbers, stretch.first, key=self.text)
        last = len(numbers) if stretch.last is None else bisect_left(numbers, stretch.last, key=self.text)
        ends = self._texts_at[first : last + 1].tolist()
        values = [self._texts[begin:end] for begin, end in pairwise(ends)]
        rows_at = self.rows_at[first : last + 1].astype(np.intp)
        return _Part(self._run, self._at + self.where.first_row + 4 * int(rows_at[0]), values, np.diff(rows_at))


class _Part(msgspec.Struct, frozen=True, eq=False):
    """Some values of a field in a run, and how many rows each of them has."""

    run: Run
    at: int
    values: list[bytes]
    counts: NDArray[np.intp]

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def gone_to(self) -> RowNumbers:
        """The values' rows, as numbered after merging."""
        rows = np.fromfile(self.run.path, dtype="<u4", count=self.rows, offset=self.at)
        gone_to: RowNumbers = np.fromfile(self.run.rows_path, dtype="<u4")[rows]
        return gone_to


def joined(paths: Sequence[Path]) -> Iterator[bytes]:
    """Joins several files of lists, whose values follow each other, into one."""
    parts = [_open(path) for path in paths]
    where = ListsLayout(
        sum(part.values for part in parts), sum(part.rows for part in parts), sum(part.text_bytes for part in parts)
    )
    yield from opening(where)
    for begin in ("texts_at", "rows_at"):
        sizes = [
            np.diff(np.fromfile(path, dtype="<u8", count=part.values + 1, offset=getattr(part, begin)))
            for path, part in zip(paths, parts, strict=True)
        ]
        yield from padded(starts(np.concatenate(sizes)).tobytes())
    texts = (_read(path, part.texts, part.text_bytes) for path, part in zip(paths, parts, strict=True))
    yield from padded(b"".join(texts))
    for path, part in zip(paths, parts, strict=True):
        yield _read(path, part.first_row, 4 * part.rows)


def _open(path: Path) -> ListsLayout:
    values, rows, text_bytes = np.fromfile(path, dtype="<u8", count=3).tolist()
    return ListsLayout(values, rows, text_bytes)


def _read(path: Path, at: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(size)
