"""The files of a generation in memory: mapped read-only, of the right size, and with the right checksum."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest

from waypost.serving.format import Section, SnapshotBroken

Mapped = mmap.mmap | bytes
_STEP = 1 << 18


def map_file(path: Path, section: Section | None) -> Mapped:
    if section is None:
        raise SnapshotBroken(path, "is not in the manifest")
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            if size != section.size:
                raise SnapshotBroken(path, f"has {size:,} bytes, and the manifest says {section.size:,}")
            mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise SnapshotBroken(path, "is missing") from None
    except OSError as error:
        raise SnapshotBroken(path, f"cannot be read: {error.strerror}") from error
    if xxh3_64_hexdigest(mapped) != section.xxh3:
        raise SnapshotBroken(path, "is damaged: its checksum is not the one in the manifest")
    return mapped


def ascends(numbers: NDArray[Any], *, strictly: bool = False) -> bool:
    """Whether numbers ascend; checked in steps, so that a large file takes no memory."""
    order = np.greater if strictly else np.greater_equal
    return all(
        bool(order(numbers[at + 1 : at + _STEP + 1], numbers[at : at + _STEP][: len(numbers) - at - 1]).all())
        for at in range(0, len(numbers) - 1, _STEP)
    )


def lies_between(numbers: NDArray[np.float64], least: float, most: float) -> bool:
    """Whether all numbers lie in these bounds; not-a-number does not."""
    return not len(numbers) or bool(numbers.min() >= least and numbers.max() <= most)
