"""The ways to join a phrase's words into one text."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, assert_never, get_args

from waypost.kernel.folding import fold

Format = Literal["kebab", "pascal", "snake", "spaced"]
FORMATS: tuple[Format, ...] = get_args(Format)

# Larger than any vocabulary, so that each word is folded once and not for every phrase.
_ascii = lru_cache(maxsize=1 << 14)(fold)


def join(words: Sequence[str], format: Format) -> str:  # noqa: A002 - it is the word people use for it
    """Joins words in the letters a to z, which every keyboard has; "spaced" is for speech and keeps native spelling."""
    match format:
        case "kebab":
            return "-".join(map(_ascii, words))
        case "pascal":
            return "".join(_ascii(word).capitalize() for word in words)
        case "snake":
            return "_".join(map(_ascii, words))
        case "spaced":
            return " ".join(words)
        case _:
            assert_never(format)
