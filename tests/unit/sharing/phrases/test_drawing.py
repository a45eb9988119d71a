"""Phrases are drawn once, by one instance or by many, and have a word more when a space closes."""

import asyncio
from itertools import chain
from math import perm
from pathlib import Path

import pytest

from waypost.sharing.phrases.drawing import Drawing
from waypost.sharing.phrases.language import UnknownTheme
from waypost.sharing.phrases.space import SpaceFull
from waypost.sharing.phrases.store import SpaceRecord
from waypost.sharing.phrases.vocabulary import UnknownLanguage, Vocabularies, shipped

pytestmark = pytest.mark.anyio

TINY = """
name = "Esperanto"
own_name = "Esperanto"

[words]
adverbs = ["bele", "rapide", "varme"]
adjectives = ["blua", "nova", "verda"]

[nouns.animals]
any = ["lutro", "urso"]

[nouns.general]
any = ["domo", "libro"]
"""


class SpacesInMemory:
    """A store that many instances share; it lets others run at each call, as a real one would."""

    def __init__(self) -> None:
        self.spaces: dict[tuple[str, str | None, str], SpaceRecord] = {}
        self.next: dict[int, int] = {}
        self.reservations = 0

    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        await asyncio.sleep(0)
        return self.spaces.setdefault((language, theme, vocabulary), SpaceRecord(len(self.spaces), key))

    async def reserve(self, space: int, count: int, most: int) -> range:
        await asyncio.sleep(0)
        self.reservations += 1
        first = self.next.get(space, 0)
        self.next[space] = max(first, min(first + count, most))
        return range(first, self.next[space])


@pytest.fixture
def store() -> SpacesInMemory:
    return SpacesInMemory()


@pytest.fixture
def tiny(tmp_path: Path) -> Vocabularies:
    (tmp_path / "eo.toml").write_text(TINY, encoding="utf-8")
    return Vocabularies(tmp_path)


async def test_a_small_space_is_drawn_to_its_last_phrase_without_a_repeat(
    store: SpacesInMemory, tiny: Vocabularies
) -> None:
    drawing = Drawing(store, tiny, block=5, fill=1)
    words = tiny.vocabulary("eo")
    drawn = [await drawing.draw("eo") for _ in range(3 * 3 * 4)]
    assert len(set(drawn)) == len(drawn)
    assert {(each[0], each[1], each[2]) for each in drawn} == {
        (adverb, adjective, noun.word)
        for adverb in words.adverbs
        for adjective in words.adjectives
        for noun in words.nouns
    }


async def test_the_next_space_has_a_word_more_until_there_are_no_words_left(
    store: SpacesInMemory, tiny: Vocabularies
) -> None:
    drawing = Drawing(store, tiny, block=7, fill=1)
    drawn = [await drawing.draw("eo") for _ in range(36 + 72 + 72)]
    with pytest.raises(SpaceFull, match="all phrases in 'eo' are used up, up to those with 5 words"):
        await drawing.draw("eo")
    assert len(set(drawn)) == len(drawn)
    lengths = [len(words) for words in drawn]
    assert lengths == [length for length in (3, 4, 5) for _ in range(3 * perm(3, length - 2) * 4)]
    assert all(len(set(words)) == len(words) for words in drawn)


async def test_a_space_closes_at_its_fill(store: SpacesInMemory, tiny: Vocabularies) -> None:
    drawing = Drawing(store, tiny, block=100, fill=0.25)
    drawn = [await drawing.draw("eo") for _ in range(9 + 18 + 1)]
    assert [len(words) for words in drawn] == [3] * 9 + [4] * 18 + [5]


async def test_a_space_gives_at_least_one_phrase(store: SpacesInMemory, tiny: Vocabularies) -> None:
    drawing = Drawing(store, tiny, block=100, fill=0.0001)
    assert [len(await drawing.draw("eo")) for _ in range(3)] == [3, 4, 5]


async def test_a_theme_has_spaces_of_its_own(store: SpacesInMemory, tiny: Vocabularies) -> None:
    drawing = Drawing(store, tiny, block=4, fill=1)
    drawn = [await drawing.draw("eo", "animals") for _ in range(3 * 3 * 2)]
    assert {words[-1] for words in drawn} == {"lutro", "urso"}
    assert len(set(drawn)) == 18
    assert len(await drawing.draw("eo")) == 3


@pytest.mark.parametrize("block", [1, 10, 1000])
async def test_draws_at_the_same_time_share_a_reservation(store: SpacesInMemory, block: int) -> None:
    drawing = Drawing(store, shipped(), block=block, fill=0.01)
    drawn = await asyncio.gather(*(drawing.draw("en") for _ in range(100)))
    assert len(set(drawn)) == 100
    assert store.reservations == -(-100 // block)
    assert len(store.spaces) == 1


async def test_a_draw_that_is_given_up_does_not_hold_up_others(store: SpacesInMemory) -> None:
    drawing = Drawing(store, shipped(), block=10, fill=0.01)
    given_up, waiting = (asyncio.ensure_future(drawing.draw("en")) for _ in range(2))
    await asyncio.sleep(0)
    given_up.cancel()
    assert len(await waiting) == 3


async def test_instances_of_any_block_never_draw_the_same_phrase(store: SpacesInMemory) -> None:
    async def draw(block: int) -> list[tuple[str, ...]]:
        drawing = Drawing(store, shipped(), block=block, fill=0.01)
        return [await drawing.draw("en", "animals") for _ in range(2_500)]

    blocks = (1, 3, 10, 50, 100, 100, 500, 1000)
    drawn = chain.from_iterable(await asyncio.gather(*map(draw, blocks)))
    assert len(set(drawn)) == 20_000


async def test_an_unknown_language_or_theme_is_refused(store: SpacesInMemory) -> None:
    drawing = Drawing(store, shipped(), block=10, fill=0.01)
    with pytest.raises(UnknownLanguage, match=r"Did you mean en\?"):
        await drawing.draw("een")
    with pytest.raises(UnknownTheme, match=r"Did you mean animals\?"):
        await drawing.draw("en", "animal")
    assert not store.spaces
