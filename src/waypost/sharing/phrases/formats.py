"""The ways a phrase's words are written as one."""

from collections.abc import Sequence
from typing import Literal, assert_never, get_args

Format = Literal["kebab", "pascal", "snake", "spaced"]
FORMATS: tuple[Format, ...] = get_args(Format)


def join(words: Sequence[str], format: Format) -> str:  # noqa: A002 - it is the word people use for it
    match format:
        case "kebab":
            return "-".join(words)
        case "pascal":
            return "".join(word.capitalize() for word in words)
        case "snake":
            return "_".join(words)
        case "spaced":
            return " ".join(words)
        case _:
            assert_never(format)
