"""A space: one immutable set of phrases, numbered in a secret order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from waypost.kernel.errors import TerminalError
from waypost.kernel.folding import fold
from waypost.sharing.phrases.permutation import Permutation
from waypost.sharing.phrases.vocabulary import Vocabulary


class SpaceFull(TerminalError):
    """A number beyond the last phrase of its space."""

    slug = "space-full"
    http_status = 503


@dataclass(frozen=True)
class Space:
    """Every number below `size` has a phrase of its own; those handed out say nothing about those to come."""

    language: str
    theme: str | None
    vocabulary: Vocabulary
    key: bytes = field(repr=False)

    @cached_property
    def size(self) -> int:
        return len(self.vocabulary.adverbs) * len(self.vocabulary.adjectives) * len(self.vocabulary.nouns)

    def words(self, number: int) -> tuple[str, str, str]:
        if not 0 <= number < self.size:
            raise SpaceFull(
                f"the space {self._name} has {self.size} phrases and none with the number {number}; "
                "open a new space, with another vocabulary or another key",
            )
        rest, noun = divmod(self._order(number), len(self.vocabulary.nouns))
        adverb, adjective = divmod(rest, len(self.vocabulary.adjectives))
        return self.vocabulary.adverbs[adverb], self.vocabulary.adjectives[adjective], self.vocabulary.nouns[noun]

    def parse(self, text: str) -> int | None:
        """The number that gives this phrase, however it is written; None when it is not exactly one of this space."""
        readings = list(_readings(fold(text), self._positions))
        if len(readings) != 1:
            return None
        adverb, adjective, noun = readings[0]
        rest = adverb * len(self.vocabulary.adjectives) + adjective
        return self._order.inverse(rest * len(self.vocabulary.nouns) + noun)

    @property
    def _name(self) -> str:
        return self.language if self.theme is None else f"{self.language}/{self.theme}"

    @cached_property
    def _order(self) -> Permutation:
        # Bound to what the space is, so that one key used for two spaces does not give them the same order.
        return Permutation(self.size, f"{self._name}/{self.vocabulary.digest}/".encode() + self.key)

    @cached_property
    def _positions(self) -> tuple[dict[str, int], ...]:
        lists = (self.vocabulary.adverbs, self.vocabulary.adjectives, self.vocabulary.nouns)
        return tuple({fold(word): position for position, word in enumerate(words)} for words in lists)


def _readings(folded: str, positions: Sequence[dict[str, int]]) -> Iterator[tuple[int, ...]]:
    """All ways to read the text as one word of each list in turn, as positions in them."""
    if not positions:
        if not folded:
            yield ()
        return
    for end in range(1, len(folded) + 1):
        if (position := positions[0].get(folded[:end])) is not None:
            for others in _readings(folded[end:], positions[1:]):
                yield position, *others
