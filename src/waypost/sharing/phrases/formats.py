"""The ways a phrase's words are written as one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, assert_never, get_args

from waypost.kernel.folding import fold

Format = Literal["kebab", "pascal", "snake", "spaced"]
FORMATS: tuple[Format, ...] = get_args(Format)

# More than a language has; a word is folded once, not for each phrase.
_ascii = lru_cache(maxsize=1 << 14)(fold)


def join(words: Sequence[str], format: Format) -> str:  # noqa: A002 - it is the word people use for it
    """In the letters a to z, which every keyboard has; spaced out it is for speech, and keeps the native spelling."""
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
