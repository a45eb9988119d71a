"""Files that get their names only once they are complete."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from waypost.kernel.errors import AskedWrongly


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write. If it cannot be completed, nothing is left behind, and an old file stays as it was."""
    if path.is_dir():
        raise AskedWrongly(f"{path} is a folder; name a file in it", parameter="output")
    if _is_stream(path):
        with path.open("wb") as file:
            yield file
        return
    # What a symbolic link leads to is replaced, not the link.
    path = Path(os.path.realpath(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    begun = _begin(part, path)
    try:
        with begun as file:
            if path.exists():
                _same_owner(path, part)
                shutil.copymode(path, part)
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            # The error of a write does not name the file.
            error.filename = str(path)
        raise
    finally:
        part.unlink(missing_ok=True)


def _begin(part: Path, path: Path) -> BinaryIO:
    if path.exists() and not os.access(path, os.W_OK):
        raise AskedWrongly(f"{path} is write-protected; choose another file", parameter="output")
    try:
        return part.open("wb")
    except OSError as error:
        raise AskedWrongly(
            f"no file can be written in {part.parent} ({error.strerror}); choose another folder", parameter="output"
        ) from None


def _same_owner(path: Path, part: Path) -> None:
    """Keeps the old file's owner, as far as we may: a file that an administrator writes again stays its owner's."""
    found = path.stat()
    with suppress(PermissionError):
        os.chown(part, found.st_uid, found.st_gid)


def _is_stream(path: Path) -> bool:
    """Whether it takes bytes as they come: a pipe, a device, or /dev/stdout, even where that is a file."""
    folder = Path(os.path.realpath(path.parent))
    return folder == Path("/dev") or folder.is_relative_to("/proc") or (path.exists() and not path.is_file())
