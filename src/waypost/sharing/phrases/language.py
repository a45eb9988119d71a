"""The words of a language: how they change, how they sound, and the part of them that one space is made of."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.folding import fold
from waypost.kernel.suggesting import did_you_mean

# The nouns that belong to no theme.
GENERAL = "general"
FEWEST_WORDS = 3


MISSPELT = "is not made of lower-case letters that have a form in a to z"


@dataclass(frozen=True)
class Agreement:
    """A language's table: for each ending of adjectives, the ending that replaces it before a noun of each class.

    By default there is one class of nouns, and adjectives never change.
    """

    classes: tuple[str, ...] = ("any",)
    endings: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"": ("",)})

    def forms(self, adjective: str) -> tuple[str, ...] | None:
        """Returns one form for each class, in order; None when no ending fits. The longest ending that fits counts."""
        for start in range(len(adjective) + 1):
            if (found := self.endings.get(adjective[start:])) is not None:
                return tuple(adjective[:start] + ending for ending in found)
        return None


@dataclass(frozen=True)
class Sounding:
    """A language's rules, from its vocabulary: each of `rules` is a pattern and the sound heard instead.

    They are applied in order to the word as it is spelt, in lower case; a rule writes capitals so that later rules do
    not take a sound for a letter, and a space so that two sounds do not merge. Then each letter of the first text in
    `blurred` becomes the letter at the same position in the second.
    """

    rules: tuple[tuple[str, str], ...] = ()
    blurred: tuple[str, str] = ("", "")

    def key(self, word: str) -> str:
        """A text that is equal for words that sound alike.

        It errs on the side of caution: words that share a key need not be homophones, but there are enough words to do
        without one of them.
        """
        heard = word
        for pattern, sound in self._compiled:
            heard = pattern.sub(sound, heard)
        heard = heard.upper().translate(self._table)
        return re.sub(r"(.)\1+", r"\1", heard).replace(" ", "")

    @cached_property
    def _compiled(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        return tuple((re.compile(pattern), sound) for pattern, sound in self.rules)

    @cached_property
    def _table(self) -> dict[int, int]:
        return str.maketrans(*self.blurred)


class BadVocabulary(AskedWrongly):
    """A vocabulary file cannot be used."""


class UnknownTheme(AskedWrongly):
    """The language has no nouns of this theme."""


class Noun(NamedTuple):
    """A noun and its class, which adjectives agree with."""

    word: str
    kind: str


@dataclass(frozen=True)
class Vocabulary:
    """What one space is made of: an adverb, adjectives that agree with the noun, and the noun, `length` words in all.

    The order counts, because numbers are turned into words by position.
    """

    language: str
    adverbs: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: tuple[Noun, ...]
    agreement: Agreement = field(default_factory=Agreement)
    length: int = FEWEST_WORDS

    @cached_property
    def digest(self) -> str:
        """A hash of the content, the same on every machine: a space remembers its vocabulary by it."""
        content = (
            *(self.language, self.length, self.adverbs, self.adjectives, self.nouns),
            *(self.agreement.classes, sorted(self.agreement.endings.items())),
        )
        return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()

    def longer(self) -> "Vocabulary":
        """Returns the same words, with one more adjective in each phrase."""
        return replace(self, length=self.length + 1)


@dataclass(frozen=True)
class Language:
    """Everything from a language's file, and what further files added to it. `nouns` are by theme."""

    code: str
    name: str
    own_name: str
    agreement: Agreement
    sounding: Sounding
    adverbs: tuple[str, ...]
    adjectives: tuple[str, ...]
    nouns: Mapping[str, tuple[Noun, ...]]

    @property
    def themes(self) -> tuple[str, ...]:
        return tuple(sorted(theme for theme in self.nouns if theme != GENERAL))

    def vocabulary(self, theme: str | None = None) -> Vocabulary:
        """The words for phrases about a theme, or about anything.

        Raises UnknownTheme, or BadVocabulary when no phrases can be made of them.
        """
        if theme is not None and theme not in self.themes:
            raise UnknownTheme(
                f"there is no theme {theme!r} in {self.name}; there is {', '.join(self.themes) or 'none yet'}."
                f"{did_you_mean(theme, self.themes)}",
                parameter="theme",
            )
        nouns = self.nouns[theme] if theme is not None else [noun for nouns in self.nouns.values() for noun in nouns]
        self._refuse_what_cannot_work(nouns)
        return Vocabulary(
            self.code,
            _in_order(self.adverbs),
            _in_order(self.adjectives),
            tuple(sorted(nouns, key=lambda noun: (fold(noun.word), noun))),
            self.agreement,
        )

    def _refuse_what_cannot_work(self, nouns: Iterable[Noun]) -> None:
        step = f"waypost vocabulary check {self.code}"
        if not (self.adverbs and self.adjectives and nouns):
            raise BadVocabulary(f"{self.name} needs adverbs, adjectives and nouns, and lacks some", next_step=step)
        for word in (*self.adverbs, *self.adjectives, *(noun.word for noun in nouns)):
            if not is_spelt_well(word):
                raise BadVocabulary(f"{word!r} {MISSPELT}", next_step=step)
        for noun in nouns:
            if noun.kind not in self.agreement.classes:
                raise BadVocabulary(
                    f"{noun.word!r} is a noun of the class {noun.kind!r}, which {self.name} does not have",
                    next_step=step,
                )


def is_spelt_well(word: str) -> bool:
    return word.isalpha() and word.islower() and all(fold(letter).isalpha() for letter in word)


def _in_order(words: Iterable[str]) -> tuple[str, ...]:
    """Sorts words, so that their order does not depend on where in which file they stand."""
    return tuple(sorted(words, key=lambda word: (fold(word), word)))
