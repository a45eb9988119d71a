r"""Halves of characters: `\ud83d` with no `\ude00` behind it, which JSON may have and no text can.

msgspec checks escapes even in what it skips, so that one half would spoil a whole answer; it checks bytes only in what
it reads. A byte that no text has, in the place of a half's backslash, lets it skip the half.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

# More than these are not a slip in a record or two: the answer is left as it is.
_MOST = 100_000
_NEVER_IN_UTF8 = range(0xF5, 0x100)

_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = rb"[dD][89a-fA-F][0-9a-fA-F]{2}"
# Everything up to a half of a character, and that half; in one go, because what follows `\\` is not an escape.
_TO_HALF = re.compile(rb"(?:[^\\]++|\\[^u]|\\u(?!%b)|%b)*+(\\u%b)?" % (_SURROGATE, _PAIR, _SURROGATE), re.DOTALL)


@dataclass(frozen=True, slots=True)
class Marked:
    """A text with a mark, which was nowhere in it, in the place of the backslashes of its halves."""

    text: bytearray
    mark: bytes

    def original(self, part: msgspec.Raw) -> msgspec.Raw:
        """A part of the text as the provider sent it."""
        sent = bytes(part)
        return msgspec.Raw(sent.replace(self.mark, b"\\")) if self.mark in sent else part


def mark_halves(text: bytes) -> Marked | None:
    """Returns None when there are no halves, or too many."""
    mark = next((byte for byte in _NEVER_IN_UTF8 if byte not in text), None)
    starts = [start for start, _ in islice(_halves(text), _MOST + 1)]
    if mark is None or not 0 < len(starts) <= _MOST:
        return None
    marked = bytearray(text)
    for start in starts:
        marked[start] = mark
    return Marked(marked, bytes([mark]))


def first_half(text: bytes) -> str | None:
    return next((half for _, half in _halves(text)), None)


def _halves(text: bytes) -> Iterator[tuple[int, str]]:
    for match in _TO_HALF.finditer(text):
        if match[1]:
            yield match.start(1), match[1].decode()
