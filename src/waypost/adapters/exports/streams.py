"""Files to write to, compressed as their names say."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from zstandard import ZstdCompressor

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.whole_file import whole_file

STDOUT = "-"
_LEVEL = 6
_NOT_WRITTEN = (".bz2", ".xz", ".zip", ".lz4", ".br")


@contextmanager
def open_output(target: str) -> Iterator[BinaryIO]:
    """Opens a file, or the standard output for `-`. A file that cannot be written to its end leaves nothing behind."""
    if target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if target.lower().endswith(_NOT_WRITTEN):
        raise AskedWrongly(f"{target} would not be compressed like that; use .gz or .zst", parameter="output")
    with whole_file(Path(target)) as plain, ExitStack() as stack:
        yield _packing(Path(target), plain, stack)


def _packing(path: Path, plain: BinaryIO, stack: ExitStack) -> BinaryIO:
    match path.suffix.lower():
        case ".gz":
            # Neither name nor time: the same places give the same bytes.
            packed = gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=plain, mtime=0)
            return cast("BinaryIO", stack.enter_context(packed))
        case ".zst":
            return cast("BinaryIO", stack.enter_context(ZstdCompressor().stream_writer(plain, closefd=False)))
        case _:
            return plain
