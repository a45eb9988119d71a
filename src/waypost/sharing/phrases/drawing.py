"""Draws phrases that no process has drawn before."""

import asyncio
import secrets
from collections.abc import Iterator

from waypost.sharing.phrases.language import Vocabulary
from waypost.sharing.phrases.space import Space, SpaceFull
from waypost.sharing.phrases.store import SpaceStore
from waypost.sharing.phrases.vocabulary import Vocabularies

_KEY_BYTES = 32


class Drawing:
    """Draws from blocks of numbers that it reserves, so that two instances never draw the same phrase.

    At most the share `fill` of each space is given out, so that guessing finds little; then a space opens whose
    phrases have one more word.
    """

    def __init__(self, store: SpaceStore, vocabularies: Vocabularies, *, block: int, fill: float) -> None:
        self._store = store
        self._vocabularies = vocabularies
        self._block = block
        self._fill = fill
        self._wells: dict[tuple[str, str | None], _Well] = {}

    async def draw(self, language: str, theme: str | None = None) -> tuple[str, ...]:
        """Returns the words of a new phrase in their native spelling. Raises UnknownLanguage and UnknownTheme."""
        well = self._wells.get((language, theme))
        if well is None:
            vocabulary = self._vocabularies.vocabulary(language, theme)
            well = self._wells[language, theme] = _Well(self._store, vocabulary, theme, self._block, self._fill)
        return await well.draw()


class _Well:
    """The numbers that are left of one reservation, and where the next comes from."""

    def __init__(self, store: SpaceStore, vocabulary: Vocabulary, theme: str | None, block: int, fill: float) -> None:
        self._store = store
        self._vocabulary = vocabulary
        self._theme = theme
        self._block = block
        self._fill = fill
        self._refilling = asyncio.Lock()
        self._words: Iterator[tuple[str, ...]] = iter(())
        self._opened: tuple[int, Space] | None = None

    async def draw(self) -> tuple[str, ...]:
        while True:
            if (words := next(self._words, None)) is not None:
                return words
            left = self._words
            async with self._refilling:
                # Another caller may have refilled it while this one waited.
                if self._words is left:
                    self._words = await self._reserve()

    async def _reserve(self) -> Iterator[tuple[str, ...]]:
        while True:
            number, space = self._opened or await self._open()
            most = max(1, int(space.size * self._fill))
            if numbers := await self._store.reserve(number, self._block, most):
                return map(space.words, numbers)
            self._vocabulary = self._vocabulary.longer()
            self._opened = None

    async def _open(self) -> tuple[int, Space]:
        words = self._vocabulary
        if words.length - 2 > len(words.adjectives):
            raise SpaceFull(
                f"all phrases in {words.language!r} are used up, up to those with {words.length - 1} words",
                next_step="add words to the vocabulary, or raise the share of a space that is given out",
            )
        record = await self._store.open_space(
            words.language, self._theme, words.digest, secrets.token_bytes(_KEY_BYTES)
        )
        self._opened = record.id, Space(words.language, self._theme, words, record.key)
        return self._opened
