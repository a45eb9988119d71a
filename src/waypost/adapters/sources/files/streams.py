"""Files as streams of bytes, whatever they are compressed with, in bounded memory."""

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import BinaryIO, cast

from waypost.adapters.sources.files.errors import missing_library

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_BUFFER = 1 << 18


def is_compressed(path: Path) -> bool:
    return path.suffix.lower() in COMPRESSIONS


def open_stream(path: Path) -> BinaryIO:
    """Opens a file for reading; only one that is not compressed can be read on from an offset."""
    match path.suffix.lower():
        case ".gz":
            return cast("BinaryIO", gzip.open(path, "rb"))
        case ".bz2":
            return cast("BinaryIO", bz2.open(path, "rb"))
        case ".xz":
            return cast("BinaryIO", lzma.open(path, "rb"))
        case ".zst":
            return _open_zst(path)
        case _:
            return path.open("rb", buffering=_BUFFER)


def _open_zst(path: Path) -> BinaryIO:
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and only some need it
    except ImportError:
        raise missing_library(f"{path.name}, like every .zst file,") from None
    return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"), _BUFFER)
