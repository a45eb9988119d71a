"""From runs to sections, in steps that several processes may do at once.

The steps of one stage do not depend on each other. What they write does not depend on how many there are.
"""

import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

import msgspec
from xxhash import xxh3_64

from waypost.serving import format as layout
from waypost.serving.building.indexing import boxes, slots
from waypost.serving.building.lists_merging import Values, joined, list_values, value_ranges
from waypost.serving.building.merging import Range, allocate, cut, merge, sizes
from waypost.serving.building.runs import Run
from waypost.serving.format import LISTS, Section

_BLOCK = 1 << 20
# With fewer rows, a second process would only wait for the first.
_FEW = 20_000
# Bytes of memory that a byte of features takes while it is merged, and a row of a list while it is sorted.
_MERGING, _LISTING = 4, 64


class Merge(msgspec.Struct, frozen=True, tag=True):
    range: Range


class Seal(msgspec.Struct, frozen=True, tag=True):
    """Makes a section that other steps have written durable, and takes its checksum."""

    name: str


class IndexIds(msgspec.Struct, frozen=True, tag=True):
    pass


class IndexPoints(msgspec.Struct, frozen=True, tag=True):
    pass


class ListValues(msgspec.Struct, frozen=True, tag=True):
    """Writes the lists of some or all of a field's values to a file of this name."""

    runs: tuple[Run, ...]
    field: str
    values: Values
    name: str


class Join(msgspec.Struct, frozen=True, tag=True):
    name: str
    parts: tuple[str, ...]


Step = Merge | Seal | IndexIds | IndexPoints | ListValues | Join
Stages = Generator[list[Step], list[Section | None], tuple[Section, ...]]


def perform(step: Step, place: Path) -> Section | None:
    """Does one step in a workplace; returns the section that it has finished, if any."""
    match step:
        case Merge(task):
            merge(task, place)
            return None
        case Seal(name):
            return _seal(place / name)
        case IndexIds():
            return _write(place / layout.SLOTS, slots(place))
        case IndexPoints():
            return _write(place / layout.BOXES, boxes(place))
        case ListValues(runs, field, values, name):
            return _write(place / name, list_values(runs, field, values).pieces())
        case Join(name, parts):
            return _write(place / name, joined([place / part for part in parts]))


def compose(place: Path, runs: Sequence[Run], *, processes: int, memory: int) -> Stages:
    """Yields the stages that turn runs into sections. The caller performs each stage's steps and sends the results."""
    runs = tuple(sorted(runs, key=lambda run: run.path))
    share = max(1, memory // processes)
    for name, size in sizes(runs).items():
        allocate(place / name, size)
    for run in runs:
        allocate(Path(run.rows_path), 4 * run.count)
    yield [Merge(each) for each in cut(runs, _ranges(runs, processes, share))]
    lists = {field: _list_values(runs, field, processes, share) for field in LISTS}
    # The longest first, so that no process is left with one of them at the end.
    done = yield [
        Seal(layout.FEATURES),
        *lists["words"],
        IndexPoints(),
        IndexIds(),
        *(step for field, steps in lists.items() if field != "words" for step in steps),
        *(Seal(name) for name in sizes(runs) if name != layout.FEATURES),
    ]
    apart = {LISTS[field]: tuple(step.name for step in steps) for field, steps in lists.items() if len(steps) > 1}
    if apart:
        done += yield [Join(name, parts) for name, parts in apart.items()]
    for path in [Path(name) for run in runs for name in (run.path, run.rows_path)]:
        path.unlink()
    for part in [place / part for parts in apart.values() for part in parts]:
        part.unlink()
    finished = {section.name: section for section in done if section}
    return tuple(finished[name] for name in layout.SECTIONS)


def perform_all(stages: Stages, place: Path) -> tuple[Section, ...]:
    """Performs all steps in this thread."""
    try:
        steps = next(stages)
        while True:
            steps = stages.send([perform(step, place) for step in steps])
    except StopIteration as end:
        sections: tuple[Section, ...] = end.value
        return sections


def _ranges(runs: Sequence[Run], processes: int, share: int) -> int:
    count, features = sum(run.count for run in runs), sum(run.feature_bytes for run in runs)
    wanted = max(1 if count < _FEW else 2 * processes, -(-features * _MERGING // share))
    return min(wanted, max(1, count))


def _list_values(runs: tuple[Run, ...], field: str, processes: int, share: int) -> list[ListValues]:
    rows = sum(run.lists[field].where.rows for run in runs)
    least = 1 if rows < _FEW or field != "words" else processes
    most = max((run.lists[field].where.values for run in runs), default=1)
    stretches = value_ranges(runs, field, min(max(least, -(-rows * _LISTING // share)), max(1, most)))
    if len(stretches) == 1:
        return [ListValues(runs, field, stretches[0], LISTS[field])]
    return [ListValues(runs, field, values, f"{field}-{at}.part") for at, values in enumerate(stretches)]


def _write(path: Path, pieces: Iterable[bytes]) -> Section:
    checksum, size = xxh3_64(), 0
    with path.open("xb") as file:
        for piece in pieces:
            checksum.update(piece)
            size += file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return Section(path.name, size, checksum.hexdigest())


def _seal(path: Path) -> Section:
    checksum, size = xxh3_64(), 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum.update(block)
            size += len(block)
        os.fsync(file.fileno())
    return Section(path.name, size, checksum.hexdigest())
