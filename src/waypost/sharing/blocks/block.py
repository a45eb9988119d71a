"""A block: a host that no link may lead to, or a word that no new phrase may have."""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Literal, get_args

import msgspec

from waypost.kernel.errors import AskedWrongly, Conflict, NotFound
from waypost.kernel.folding import fold
from waypost.sharing.links.hosts import BadHost, read_host
from waypost.sharing.phrases.matching import LONGEST, SEPARATORS, PhraseRefused

# Every process holds all of them in memory.
MOST_BLOCKS = 10_000
_SHORTEST_WORD = 2

BlockKind = Literal["host", "word"]
BLOCK_KINDS: tuple[BlockKind, ...] = get_args(BlockKind)
# Between words: a separator, or where a capital follows a small letter.
_BETWEEN = re.compile(rf"[{SEPARATORS}]+|(?<=[^\W\d_A-Z])(?=[A-Z])")


class BlockInvalid(AskedWrongly):
    """Such a host or word cannot be blocked."""

    def __init__(self, message: str) -> None:
        super().__init__(message, parameter="value")


class UnknownBlock(NotFound):
    """The host or word is not blocked."""


class TooManyBlocks(Conflict):
    """No more hosts and words can be blocked."""

    def __init__(self) -> None:
        super().__init__(
            f"{MOST_BLOCKS} hosts and words are blocked already; remove some", next_step="waypost block list"
        )


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """`value` is spelt in one way: a host as browsers read it, a word folded. `added_by` is as in a link's history."""

    kind: BlockKind
    value: str
    added_at: datetime
    added_by: str


def block_value(kind: BlockKind, text: str) -> str:
    """The one spelling of a host or a word. Raises BlockInvalid."""
    if kind == "host":
        try:
            return str(read_host(f"[{text}]" if text.count(":") > 1 else text))
        except BadHost as error:
            raise BlockInvalid(f"{text[:80]!r} {error}; write it like bad.example.org, without a port") from None
    word = fold(text)
    if not _SHORTEST_WORD <= len(word) <= LONGEST or len(_BETWEEN.split(text.strip())) > 1:
        raise BlockInvalid(f"{text[:80]!r} is not a word of {_SHORTEST_WORD} to {LONGEST} letters; block one at a time")
    return word


def refuse_words(phrase: str, words: Collection[str]) -> None:
    """Raises PhraseRefused for a phrase with one of these words, in one piece or spelt with separators."""
    for piece in (phrase, *_BETWEEN.split(phrase)) if words else ():
        if has_word([piece], words):
            raise PhraseRefused(f"a phrase cannot have the word {piece[:80]!r} here; choose another one")


def has_word(pieces: Collection[str], words: Collection[str]) -> bool:
    """Whether one of these pieces is one of the words, or its plural."""
    folded = [fold(piece) for piece in pieces]
    return any(piece in words or piece.removesuffix("s") in words for piece in folded)
