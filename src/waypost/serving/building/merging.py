"""Merges runs: all rows are cut into ranges, each of which knows where in each section its part belongs."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

import msgspec
import numpy as np
from numpy.typing import NDArray

from waypost.serving import format as layout
from waypost.serving.building.lists_writing import starts
from waypost.serving.building.runs import Run, column, gathered, halves

# How many rows are sampled per range to choose where ranges end.
_SAMPLES = 64


class RunShare(msgspec.Struct, frozen=True):
    """Consecutive rows of a run, and where their features begin and end."""

    run: Run
    first: int
    last: int
    feature: int
    feature_end: int


class Range(msgspec.Struct, frozen=True):
    """Shares of runs that become the rows from `row` on, of `count` in all, and the feature bytes from `byte` on."""

    shares: tuple[RunShare, ...]
    row: int
    byte: int
    count: int


def sizes(runs: Sequence[Run]) -> dict[str, int]:
    """The sizes of the sections that merging writes."""
    count = sum(run.count for run in runs)
    return {
        layout.FEATURES: sum(run.feature_bytes for run in runs),
        layout.OFFSETS: 8 * (count + 1),
        layout.IDS: layout.ID_BYTES * count,
        layout.KEYS: 8 * count,
        layout.POINTS: layout.aligned(8 * count) + 8 * count,
        layout.POWER: 4 * count,
        layout.UPDATED: 8 * count,
    }


def cut(runs: Sequence[Run], wanted: int) -> Iterator[Range]:
    """Cuts the runs into about `wanted` ranges with about the same number of rows each."""
    count = sum(run.count for run in runs)
    with ExitStack() as stack:
        files = [stack.enter_context(Path(run.path).open("rb")) for run in runs]
        ends = _ends(runs, files, wanted)
        splits = zip(*(_splits(run, file, ends) for run, file in zip(runs, files, strict=True)), strict=True)
        row = byte = 0
        for firsts, lasts in pairwise(splits):
            shares = tuple(
                _share(run, file, first, last)
                for run, file, first, last in zip(runs, files, firsts, lasts, strict=True)
                if first < last
            )
            if shares:
                yield Range(shares, row, byte, count)
            row += sum(share.last - share.first for share in shares)
            byte += sum(share.feature_end - share.feature for share in shares)


Spot = tuple[int, bytes]


def _ends(runs: Sequence[Run], files: Sequence[IO[bytes]], wanted: int) -> list[Spot]:
    """The keys and ids at which one range ends and the next begins."""
    step = max(1, sum(run.count for run in runs) // (wanted * _SAMPLES))
    spots: list[Spot] = []
    for run, file in zip(runs, files, strict=True):
        rows = range(step // 2, run.count, step)
        key = column(file, run, "keys", 0, run.count)[rows.start :: step].tolist()
        ids = column(file, run, "ids", 0, run.count)[rows.start :: step].tolist()
        spots += zip(key, ids, strict=True)
    spots.sort()
    return sorted({spots[len(spots) * at // wanted] for at in range(1, wanted)} if spots else ())


def _splits(run: Run, file: IO[bytes], ends: Sequence[Spot]) -> list[int]:
    """The rows of a run at which its ranges begin, and its end."""
    keys = column(file, run, "keys", 0, run.count)
    wanted = np.array([key for key, _ in ends], dtype=np.uint64)
    lefts, rights = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")

    def place_id(row: int) -> bytes:
        return column(file, run, "ids", row, row + 1).tobytes()

    inner = (
        left + bisect_left(range(left, right), wanted_id, key=place_id)
        for left, right, (_, wanted_id) in zip(lefts.tolist(), rights.tolist(), ends, strict=True)
    )
    return [0, *inner, run.count]


def _share(run: Run, file: IO[bytes], first: int, last: int) -> RunShare:
    [begin] = column(file, run, "starts", first, first + 1).tolist()
    [end] = column(file, run, "starts", last, last + 1).tolist()
    return RunShare(run, first, last, begin, end)


def merge(task: Range, place: Path) -> None:
    """Writes a range's part of each section, and for each run the new numbers of its rows."""
    columns = _read(task.shares)
    upper, lower = halves(columns["ids"].tobytes())
    order = np.lexsort((lower, upper, columns["keys"]))
    lengths = columns["lengths"]
    rows = slice(task.row, task.row + len(order))
    with _writing(place / layout.FEATURES, task.byte) as file:
        begins = starts(lengths)
        file.writelines(gathered(_features(task.shares), begins[:-1][order], begins[1:][order]))
    offsets = starts(lengths[order]) + np.uint64(task.byte)
    # The end of the last feature is where the next range begins, and the next range writes it, if there is one.
    _write(place / layout.OFFSETS, 8 * rows.start, offsets if rows.stop == task.count else offsets[:-1])
    _write(place / layout.IDS, 16 * rows.start, columns["ids"][order])
    _write(place / layout.KEYS, 8 * rows.start, columns["keys"][order])
    _write(place / layout.POINTS, 8 * rows.start, columns["lon"][order])
    _write(place / layout.POINTS, layout.aligned(8 * task.count) + 8 * rows.start, columns["lat"][order])
    _write(place / layout.POWER, 4 * rows.start, columns["power"][order])
    _write(place / layout.UPDATED, 8 * rows.start, columns["updated"][order])
    _tell_runs(task, order)


def _read(shares: Sequence[RunShare]) -> dict[str, NDArray[np.uint64]]:
    parts: dict[str, list[NDArray[np.uint64]]] = {}
    for share in shares:
        with Path(share.run.path).open("rb") as file:
            for name in ("keys", "ids", "lon", "lat", "power", "updated"):
                parts.setdefault(name, []).append(column(file, share.run, name, share.first, share.last))
            begins = column(file, share.run, "starts", share.first, share.last + 1)
            parts.setdefault("lengths", []).append(np.diff(begins))
    return {name: np.concatenate(found) for name, found in parts.items()}


def _features(shares: Sequence[RunShare]) -> bytearray:
    features = bytearray(sum(share.feature_end - share.feature for share in shares))
    at = 0
    with memoryview(features) as view:
        for share in shares:
            with Path(share.run.path).open("rb") as file:
                file.seek(share.feature)
                at += file.readinto(view[at : at + share.feature_end - share.feature])
    return features


def _tell_runs(task: Range, order: NDArray[np.intp]) -> None:
    gone_to = np.empty(len(order), dtype="<u4")
    gone_to[order] = np.arange(task.row, task.row + len(order), dtype=np.uint32)
    at = 0
    for share in task.shares:
        size = share.last - share.first
        _write(Path(share.run.rows_path), 4 * share.first, gone_to[at : at + size])
        at += size


@contextmanager
def _writing(path: Path, at: int) -> Iterator[IO[bytes]]:
    """Opens an existing file at a position; other processes write elsewhere in it."""
    with path.open("r+b") as file:
        file.seek(at)
        yield file


def _write(path: Path, at: int, part: NDArray[np.generic]) -> None:
    with _writing(path, at) as file:
        file.write(part.tobytes())


def allocate(path: Path, size: int) -> None:
    """Makes an empty file of this size and reserves its space, so that a full disk fails now and not half-way."""
    with path.open("xb") as file:
        if size and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
