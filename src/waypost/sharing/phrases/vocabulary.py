"""The words phrases are made of, one file a language, and what makes a list of words fit for the phone."""

import hashlib
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from typing import Any

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.folding import fold
from waypost.kernel.suggesting import did_you_mean
from waypost.sharing.phrases.sounding import sound

SHORTEST = 3
LONGEST = 9


class UnknownLanguage(AskedWrongly):
    """There is no vocabulary in this language."""

    slug = "unknown-language"


@dataclass(frozen=True)
class Vocabulary:
    """The words of one language; their order counts, because numbers are turned into words by position."""

    language: str
    adverbs: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """Equal for equal content, here and everywhere: what a space remembers its vocabulary by."""
        lists = ("\n".join(words) for words in (self.adverbs, self.adjectives, self.nouns))
        return hashlib.blake2b("\n\n".join((self.language, *lists)).encode(), digest_size=16).hexdigest()

    def words(self) -> tuple[str, ...]:
        return self.adverbs + self.adjectives + self.nouns


def languages() -> tuple[str, ...]:
    found = (resources.files(__package__) / "vocabularies").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in found if file.name.endswith(".toml")))


@cache
def load(language: str) -> Vocabulary:
    known = languages()
    # Only a known name becomes a file's name: what people type never reaches the file system.
    if language not in known:
        raise UnknownLanguage(
            f"there are no phrases in {language!r}; there are in {', '.join(known)}.{did_you_mean(language, known)}",
            parameter="language",
        )
    text = (resources.files(__package__) / "vocabularies" / f"{language}.toml").read_text(encoding="utf-8")
    table: dict[str, Any] = tomllib.loads(text)
    return Vocabulary(language, tuple(table["adverbs"]), tuple(table["adjectives"]), tuple(table["nouns"]))


def problems(vocabulary: Vocabulary) -> list[str]:
    """What is wrong with a vocabulary, in sentences for the person who edits it; nothing when it is fit for use."""
    return [
        *_misspelt(vocabulary),
        *_misplaced(vocabulary),
        *_alike(vocabulary, fold, "are the same word once folded"),
        *_alike(vocabulary, sound, "sound alike"),
        *_running_together(vocabulary),
    ]


def _misspelt(vocabulary: Vocabulary) -> Iterator[str]:
    for word in vocabulary.words():
        if not (word.isascii() and word.isalpha() and word.islower()):
            yield f"{word!r} is not made of the lower-case letters a to z"
        if not SHORTEST <= len(word) <= LONGEST:
            yield f"{word!r} has {len(word)} letters; words have {SHORTEST} to {LONGEST}"


def _misplaced(vocabulary: Vocabulary) -> Iterator[str]:
    seen: set[str] = set()
    for word in vocabulary.words():
        if word in seen:
            yield f"{word!r} is there twice"
        seen.add(word)
    for words in (vocabulary.adverbs, vocabulary.adjectives, vocabulary.nouns):
        if not words:
            yield "a list has no words"
        for before, after in pairwise(words):
            if before > after:
                yield f"{after!r} stands after {before!r}; words stand in alphabetical order"


def _alike(vocabulary: Vocabulary, key: Callable[[str], str], verdict: str) -> Iterator[str]:
    first: dict[str, str] = {}
    for word in vocabulary.words():
        other = first.setdefault(key(word), word)
        if other != word:
            yield f"{other!r} and {word!r} {verdict}"


def _running_together(vocabulary: Vocabulary) -> Iterator[str]:
    """Phrases are matched without separators, so two phrases must not fold to one text: "sun-nymph", "sunny-mph".

    That cannot happen while no adverb begins another adverb, and no adjective another adjective.
    """
    for words in (vocabulary.adverbs, vocabulary.adjectives):
        # Between a word and one that it begins, alphabetical order leaves room only for others that it begins.
        for before, after in pairwise(sorted(set(words))):
            if after.startswith(before):
                yield f"{before!r} begins {after!r}, so that words could not be told apart when run together"
