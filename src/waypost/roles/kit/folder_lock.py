"""The lock of the data folder, for a process that must be alone in it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waypost.kernel.errors import TerminalError


class FolderInUse(TerminalError):
    """Another Waypost is up on this folder."""

    slug = "folder-in-use"


class FolderNotWritable(TerminalError):
    """Nothing can be written into the data folder."""

    slug = "folder-not-writable"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. The system frees it when the process ends, however it ends."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FolderNotWritable(
            f"the data folder {folder} cannot be written: {error.strerror}",
            next_step="make it writable for this user, or choose another folder with --data",
        ) from error
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() or "unknown"
        raise FolderInUse(
            f"another Waypost (process {holder}) is up on {folder}",
            next_step="stop that one, or choose another folder with --data",
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
