"""Files to write to: compressed as their names say, and under their names only once they are whole."""

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from zstandard import ZstdCompressor

STDOUT = "-"
_LEVEL = 6


@contextmanager
def open_output(target: str) -> Iterator[BinaryIO]:
    """A file, or the standard output for `-`. A file that cannot be written to its end leaves nothing behind."""
    if target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    # A pipe or a device takes bytes as they come, and cannot be replaced.
    is_special = path.exists() and not path.is_file()
    written = path if is_special else path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with ExitStack() as stack:
            plain = stack.enter_context(written.open("wb"))
            yield _packing(path, plain, stack)
        if not is_special:
            written.replace(path)
    finally:
        if not is_special:
            written.unlink(missing_ok=True)


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
