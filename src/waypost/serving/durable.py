"""Writing that a crash cannot spoil: bytes reach the disk before their names do, and locks die with their owner."""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from waypost.kernel.clock import monotonic
from waypost.serving.format import SnapshotNotWritten

_PATIENCE = 60.0
_PAUSE = 0.02


def write_file(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable; syncing the files alone does not."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def try_lock(file: IO[bytes]) -> bool:
    """Takes the file's lock unless it is held; the kernel releases it when its owner dies."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Holds the lock of a file; gives up after waiting too long for it."""
    deadline = monotonic() + patience
    with path.open("ab") as file:
        while not try_lock(file):
            if monotonic() >= deadline:
                raise SnapshotNotWritten(f"another process has held {path} for more than {patience:g} seconds")
            time.sleep(_PAUSE)
        yield
