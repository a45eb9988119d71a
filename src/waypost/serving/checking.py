"""Checks a generation row by row. Opening it has already checked each file's size and checksum."""

from collections.abc import Callable

import msgspec
import numpy as np

from waypost.serving.format import FEATURES, IDS, OFFSETS, SLOTS, SnapshotBroken
from waypost.serving.reading.reader import Generation

_OFFSETS_AT_ONCE = 1 << 20
_ROWS_A_STEP = 1000


class _Feature(msgspec.Struct, tag="Feature"):
    id: str


def check_rows(generation: Generation, progress: Callable[[int], None]) -> None:
    """Raises SnapshotBroken, which names the file. Checksums do not show the errors of the builder that made them."""
    _check_offsets(generation)
    decode = msgspec.json.Decoder(_Feature).decode
    for row in range(generation.count):
        feature, row_id = generation.feature(row), generation.row_id(row)
        try:
            said = decode(feature).id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _broken(generation, FEATURES, f"has no Feature in row {row}: {error}") from error
        if said != str(row_id):
            raise _broken(generation, IDS, f"calls row {row} {row_id}, and its Feature says {said[:80]!r}")
        if generation.get(row_id) != feature:
            raise _broken(generation, SLOTS, f"does not lead from {row_id} to row {row}")
        if row % _ROWS_A_STEP == 0:
            progress(row)
    progress(generation.count)


def _check_offsets(generation: Generation) -> None:
    """Checks that offsets ascend from 0 to the end; a Feature has at least one byte before its comma."""
    offsets = np.memmap(generation.path / OFFSETS, dtype="<u8", mode="r")
    section = generation.manifest.section(FEATURES)
    end = section.size if section else -1
    if int(offsets[0]) != 0 or int(offsets[-1]) != end:
        raise _broken(generation, OFFSETS, f"goes from {offsets[0]} to {offsets[-1]}, and {FEATURES} from 0 to {end}")
    for start in range(0, generation.count, _OFFSETS_AT_ONCE):
        some = offsets[start : start + _OFFSETS_AT_ONCE + 1]
        wrong = np.flatnonzero(some[1:] <= some[:-1] + np.uint64(1))
        if len(wrong):
            raise _broken(generation, OFFSETS, f"does not ascend at row {start + int(wrong[0])}")


def _broken(generation: Generation, name: str, wrong: str) -> SnapshotBroken:
    return SnapshotBroken(generation.path / name, wrong)
