"""A space: one immutable set of phrases, numbered in a secret order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import perm

from waypost.kernel.errors import TerminalError
from waypost.kernel.folding import fold
from waypost.sharing.phrases.language import Vocabulary
from waypost.sharing.phrases.permutation import Permutation


class SpaceFull(TerminalError):
    """A number beyond the last phrase of its space."""

    http_status = 503


@dataclass(frozen=True)
class Space:
    """Every number below `size` has a phrase of its own; phrases handed out say nothing about those to come."""

    language: str
    theme: str | None
    vocabulary: Vocabulary
    key: bytes = field(repr=False)

    @cached_property
    def size(self) -> int:
        """The number of phrases: adverbs, times the ways to choose distinct adjectives, times nouns."""
        words = self.vocabulary
        return len(words.adverbs) * perm(len(words.adjectives), self._adjectives) * len(words.nouns)

    def words(self, number: int) -> tuple[str, ...]:
        """The words of the phrase with this number, in their native spelling. Raises SpaceFull."""
        if not 0 <= number < self.size:
            raise SpaceFull(
                f"the space {self._name} has {self.size} phrases and none with the number {number}; "
                "open a new space, with another vocabulary or another key",
            )
        vocabulary = self.vocabulary
        rest, noun = divmod(self._order(number), len(vocabulary.nouns))
        forms = self._forms[noun]
        adjectives: list[int] = []
        for count in range(self._adjectives):
            rest, adjective = divmod(rest, len(forms) - count)
            # Its number leaves out the adjectives chosen before.
            for other in sorted(adjectives):
                adjective += adjective >= other
            adjectives.append(adjective)
        return vocabulary.adverbs[rest], *[forms[each] for each in adjectives], vocabulary.nouns[noun].word

    def parse(self, text: str) -> int | None:
        """The number of this phrase, however it is written; None unless it reads as exactly one phrase of the space."""
        found = [
            (adverb, adjectives, noun)
            for adverb, rest in _beginnings(fold(text), self._adverb_positions)
            for forms, nouns in self._positions
            for *adjectives, noun in _readings(rest, [*[forms] * self._adjectives, nouns])
            if len(set(adjectives)) == len(adjectives)
        ]
        return self._number(*found[0]) if len(found) == 1 else None

    def _number(self, adverb: int, adjectives: Sequence[int], noun: int) -> int:
        rest = adverb
        for count, adjective in reversed(list(enumerate(adjectives))):
            counted = adjective - sum(other < adjective for other in adjectives[:count])
            rest = rest * (len(self.vocabulary.adjectives) - count) + counted
        return self._order.inverse(rest * len(self.vocabulary.nouns) + noun)

    @property
    def _name(self) -> str:
        return self.language if self.theme is None else f"{self.language}/{self.theme}"

    @cached_property
    def _adjectives(self) -> int:
        """How many adjectives each phrase has; the other two words are the adverb and the noun."""
        return self.vocabulary.length - 2

    @cached_property
    def _order(self) -> Permutation:
        # Bound to what the space is, so that one key used for two spaces does not give them the same order.
        return Permutation(self.size, f"{self._name}/{self.vocabulary.digest}/".encode() + self.key)

    @cached_property
    def _forms_by_class(self) -> dict[str, tuple[str, ...]]:
        """All adjectives as they stand before a noun of each class."""
        agreement = self.vocabulary.agreement
        rows = [agreement.forms(each) or (each,) * len(agreement.classes) for each in self.vocabulary.adjectives]
        return dict(zip(agreement.classes, zip(*rows, strict=True), strict=True))

    @cached_property
    def _forms(self) -> list[tuple[str, ...]]:
        """All adjectives as they stand before each noun."""
        return [self._forms_by_class[noun.kind] for noun in self.vocabulary.nouns]

    @cached_property
    def _adverb_positions(self) -> dict[str, int]:
        return {fold(word): position for position, word in enumerate(self.vocabulary.adverbs)}

    @cached_property
    def _positions(self) -> list[tuple[dict[str, int], dict[str, int]]]:
        """Adjectives and nouns by their folded form, for each class of nouns."""
        return [
            (
                {fold(form): position for position, form in enumerate(forms)},
                {fold(noun.word): at for at, noun in enumerate(self.vocabulary.nouns) if noun.kind == kind},
            )
            for kind, forms in self._forms_by_class.items()
        ]


def _beginnings(folded: str, positions: dict[str, int]) -> Iterator[tuple[int, str]]:
    """Yields each word that the text begins with, as its position, and the rest of the text."""
    for end in range(1, len(folded) + 1):
        if (position := positions.get(folded[:end])) is not None:
            yield position, folded[end:]


def _readings(folded: str, lists: Sequence[dict[str, int]]) -> Iterator[tuple[int, ...]]:
    """All ways to read the text as one word of each list in turn, as positions in them."""
    if not lists:
        if not folded:
            yield ()
        return
    for position, rest in _beginnings(folded, lists[0]):
        for others in _readings(rest, lists[1:]):
            yield position, *others
