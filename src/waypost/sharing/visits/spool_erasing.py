"""Overwrites what this machine's spool holds of one link, where no running process holds the file."""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from waypost.sharing.visits.set_aside import SUFFIX
from waypost.sharing.visits.spool import Segment, segments_in

# Shipped later, it is a visit from before the erasure, and so it is not counted.
_NOTHING = b'{"id":"erased","link_id":"%b","at":"1970-01-01T00:00:00Z"}'


def erase_from_spool(folder: Path, link_id: str) -> int:
    """Returns how many segments it left alone: running processes hold them, ship them within seconds and then remove
    them, or they belong to another user.

    Lines keep their length, because the set-aside files say where lines begin. A damaged line is overwritten if the
    link's id can still be read in it.
    """
    held = 0
    for path in segments_in(folder):
        try:
            segment = Segment.adopt(path)
        except PermissionError:
            segment = None
        if segment:
            try:
                _overwrite(path, link_id.encode(), _NOTHING % link_id.encode())
            finally:
                segment.leave()
        else:
            held += path.exists()
    for path in folder.glob(f"*{SUFFIX}"):
        # Processes that add to it only append.
        _overwrite(path, link_id.encode(), b"")
    return held


def _overwrite(path: Path, wanted: bytes, instead: bytes) -> None:
    """Overwrites each line that has `wanted` in it by `instead` and spaces."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_size == 0:
            return
        with mmap.mmap(descriptor, 0) as content:
            for start, end in _lines_with(content, wanted):
                size = end - start
                content[start:end] = (instead if len(instead) <= size else b"").ljust(size)
            content.flush()
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lines_with(content: mmap.mmap, wanted: bytes) -> Iterator[tuple[int, int]]:
    """Yields where each such line begins and ends, without its line end."""
    after = 0
    while (found := content.find(wanted, after)) >= 0:
        start, end = content.rfind(b"\n", 0, found) + 1, content.find(b"\n", found)
        after = end if end >= 0 else len(content)
        yield start, after
