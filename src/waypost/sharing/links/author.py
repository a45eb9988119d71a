"""Makes links: draws a phrase that nobody has, or takes the one that was asked for."""

import secrets

from waypost.kernel.clock import utc_now
from waypost.kernel.ids import new_id
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import check_target
from waypost.sharing.phrases.formats import join
from waypost.sharing.phrases.matching import check_custom
from waypost.sharing.phrases.space import Space
from waypost.sharing.phrases.vocabulary import load
from waypost.telemetry.metrics import LINKS_CREATED

_KEY_BYTES = 32
# Only a phrase chosen by hand can stand in a drawn one's way, so that a few draws are plenty.
_DRAWS = 5


class Author:
    """Draws from blocks of numbers that it reserves, so that two authors never draw the same phrase."""

    def __init__(self, store: LinkStore, language: str, *, block: int) -> None:
        self._store = store
        self._language = language
        self._block = block
        self._space: tuple[int, Space] | None = None
        self._numbers = iter(range(0))

    async def create(self, target: str, phrase: str | None = None) -> Link:
        target = check_target(target)
        link = await self._take(target, phrase) if phrase is not None else await self._draw(target)
        LINKS_CREATED.inc()
        return link

    async def _take(self, target: str, phrase: str) -> Link:
        link = _new(target, check_custom(phrase), language=None)
        await self._store.add(link)
        return link

    async def _draw(self, target: str) -> Link:
        for _ in range(_DRAWS - 1):
            try:
                return await self._draw_once(target)
            except PhraseTaken:
                continue
        return await self._draw_once(target)

    async def _draw_once(self, target: str) -> Link:
        space_id, space = await self._open_space()
        number = next(self._numbers, None)
        if number is None:
            first = await self._store.reserve(space_id, self._block)
            self._numbers = iter(range(first + 1, first + self._block))
            number = first
        link = _new(target, join(space.words(number), "kebab"), language=self._language)
        await self._store.add(link)
        return link

    async def _open_space(self) -> tuple[int, Space]:
        if self._space is None:
            vocabulary = load(self._language)
            record = await self._store.open_space(
                self._language, None, vocabulary.digest, secrets.token_bytes(_KEY_BYTES)
            )
            self._space = record.id, Space(self._language, None, vocabulary, record.key)
        return self._space


def _new(target: str, phrase: str, *, language: str | None) -> Link:
    return Link(
        id=str(new_id()),
        phrase=phrase,
        target=target,
        language=language,
        theme=None,
        format="kebab",
        created_at=utc_now(),
    )
