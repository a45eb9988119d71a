"""Files as streams of bytes, whatever they are compressed with, and as lines; both in bounded memory."""

import bz2
import gzip
import io
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from waypost.adapters.sources.files.formats import missing_library

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
_BUFFER = 1 << 18
BOM = b"\xef\xbb\xbf"


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


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its end, if it has one; only its beginning, when it is larger than the bound.

    `end` is how many bytes of the stream have been read with it, and `lost_quotes` how many of `"` were left out.
    """

    content: bytes
    end: int
    is_cut: bool = False
    lost_quotes: int = 0

    @property
    def is_ended(self) -> bool:
        return self.is_cut or self.content.endswith(b"\n")


def read_lines(stream: BinaryIO, bound: int, offset: int = 0) -> Iterator[Line]:
    """Yields lines from where the stream stands, which is `offset`, without a byte order mark at the very beginning."""
    while content := stream.readline(bound):
        is_cut = len(content) >= bound and not content.endswith(b"\n")
        begin, offset, quotes = offset, offset + len(content), 0
        rest = content if is_cut else b""
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(bound)
            offset += len(rest)
            quotes += rest.count(b'"')
        yield Line(content.removeprefix(BOM) if begin == 0 else content, offset, is_cut, quotes)
