"""Lines of a stream, none of them larger than a bound in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BOM = b"\xef\xbb\xbf"


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
