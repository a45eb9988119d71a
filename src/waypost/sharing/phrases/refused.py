"""Words that no phrase may have: brand names and rude words."""

import hashlib
import tomllib
from functools import cache
from importlib import resources

from waypost.kernel.folding import fold


def is_brand(word: str) -> bool:
    return fold(word) in _lists()[0]


def is_rude(word: str) -> bool:
    return not _lists()[1].isdisjoint({hash_of(word), hash_of(fold(word).removesuffix("s"))})


def hash_of(word: str) -> str:
    """The hash that the list has in place of a rude word, so that nobody has to read it."""
    return hashlib.blake2s(fold(word).encode(), digest_size=5).hexdigest()


@cache
def _lists() -> tuple[frozenset[str], frozenset[str]]:
    table = tomllib.loads((resources.files(__package__) / "refused.toml").read_text(encoding="utf-8"))
    return frozenset(table["brands"]), frozenset(table["rude"])
