"""Finds where the values of a JSON text begin and end, and holds no more than one of them in memory.

What a value says is none of its business: it counts brackets outside strings, and leaves the rest to a decoder.
"""

import re
from typing import BinaryIO

from waypost.adapters.sources.files.formats import SHOWN, FileBroken
from waypost.adapters.sources.files.streams import BOM

_CHUNK = 1 << 18
_SPACE = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb'[^ \t\r\n,\[\]{}"]*+')
# Whole strings and all else that is not a bracket, then a bracket, or the quote of a string that goes on past the end.
_TO_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+(["{}\[\]])?', re.DOTALL)
_TO_QUOTE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+(")?', re.DOTALL)


class JsonScanner:
    """Goes through a stream from where it stands, which is `offset`."""

    def __init__(self, stream: BinaryIO, offset: int = 0) -> None:
        self._stream = stream
        self._offset = offset
        self._buffer = bytearray()
        self._position = 0
        # Where the value begins that is being read; what lies before it is forgotten when more comes.
        self._begin: int | None = None
        self._bound = 0
        self._head = b""

    @property
    def offset(self) -> int:
        """How many bytes of the stream have been passed."""
        return self._offset + self._position

    def peek(self) -> bytes:
        """Returns the next byte that is not a space, without taking it; nothing at the end."""
        if self.offset == 0:
            self._skip_mark()
        while True:
            self._match(_SPACE)
            if self._position < len(self._buffer):
                return bytes(self._buffer[self._position : self._position + 1])
            if not self._fill():
                return b""

    def take(self, expected: bytes) -> bytes:
        """Takes the next byte that is not a space, which has to be one of these."""
        found = self.peek()
        if not found:
            raise FileBroken("it ends in the middle")
        if found not in expected:
            raise FileBroken(f"at byte {self.offset} it has {_shown(found)} where {_shown(expected)} is due")
        self._position += 1
        return found

    def value(self, bound: int) -> tuple[bytes, bool]:
        """Returns the next value, and whether it is whole: of one that is larger than the bound, only the beginning."""
        first = self.peek()
        self._begin, self._bound, self._head = self._position, bound, b""
        if first == b'"':
            self._position += 1
            self._skip_string()
        elif first and first in b"{[":
            self._skip_nested()
        else:
            self._skip_scalar()
        begin = self._end_value()
        if begin is None:
            return self._head, False
        if begin == self._position:
            raise FileBroken(f"at byte {self.offset} it has {_shown(first)} where a value is due")
        whole = bytes(self._buffer[begin : self._position])
        return (whole, True) if len(whole) <= bound else (whole[:SHOWN], False)

    def _skip_mark(self) -> None:
        while len(self._buffer) < len(BOM) and self._fill():
            pass
        self._position = len(BOM) if self._buffer.startswith(BOM) else 0

    def _end_value(self) -> int | None:
        begin, self._begin = self._begin, None
        return begin

    def _skip_nested(self) -> None:
        # Most of the time is spent here, so this does by itself what `_match` does.
        depth = 0
        while match := _TO_BRACKET.match(self._buffer, self._position):
            self._position = match.end()
            bracket = match[1]
            if bracket is None:
                self._need_more()
            elif bracket == b'"':
                self._skip_string()
            elif bracket in b"{[":
                depth += 1
            elif depth == 1:
                return
            else:
                depth -= 1

    def _skip_string(self) -> None:
        """Goes from after a string's first quote to after its last one."""
        while not self._match(_TO_QUOTE):
            self._need_more()

    def _skip_scalar(self) -> None:
        self._match(_SCALAR)
        while self._position == len(self._buffer) and self._fill():
            self._match(_SCALAR)

    def _match(self, pattern: re.Pattern[bytes]) -> bytes | None:
        """Every pattern here matches, if only the empty text; some have a group that says what they came upon."""
        match = pattern.match(self._buffer, self._position)
        assert match
        self._position = match.end()
        return match[1] if pattern.groups else None

    def _need_more(self) -> None:
        if not self._fill():
            raise FileBroken("it ends in the middle of a value")

    def _fill(self) -> bool:
        """Reads on, and forgets what is no longer wanted: even the value that is being read, if it is too large."""
        chunk = self._stream.read(_CHUNK)
        if self._begin is not None and self._position - self._begin > self._bound:
            self._head, self._begin = bytes(self._buffer[self._begin : self._begin + SHOWN]), None
        done = self._position if self._begin is None else self._begin
        del self._buffer[:done]
        self._offset += done
        self._position -= done
        self._begin = None if self._begin is None else 0
        self._buffer += chunk
        return bool(chunk)


def _shown(text: bytes) -> str:
    return repr(text.decode("ascii", "replace")) if text else "nothing"
