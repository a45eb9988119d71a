"""What every store of links and visits does."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.sharing.links.author import Author
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.targets import TargetRefused
from waypost.sharing.phrases.formats import join
from waypost.sharing.phrases.matching import PhraseRefused
from waypost.sharing.phrases.space import Space
from waypost.sharing.phrases.vocabulary import load
from waypost.sharing.visits.visit import Visit

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)
TARGET = "https://example.org/page"


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


def link(phrase: str, number: int = 1) -> Link:
    return Link(
        id=f"link-{number}",
        phrase=phrase,
        target=TARGET,
        language="en",
        theme=None,
        format="kebab",
        created_at=NOON,
    )


async def test_a_link_comes_back_as_it_was_kept(backend: Backend) -> None:
    kept = link("gently-golden-otter")
    await backend.stores.links.add(kept)
    assert await backend.stores.links.find("gently-golden-otter") == kept


@pytest.mark.parametrize(
    "typed", ["GENTLY-GOLDEN-OTTER", "gently golden otter", "GentlyGoldenOtter", "gently_gölden_otter"]
)
async def test_case_separators_and_accents_do_not_matter(backend: Backend, typed: str) -> None:
    await backend.stores.links.add(link("gently-golden-otter"))
    assert await backend.stores.links.find(typed)


async def test_a_phrase_never_leads_to_two_places(backend: Backend) -> None:
    await backend.stores.links.add(link("gently-golden-otter"))
    with pytest.raises(PhraseTaken):
        await backend.stores.links.add(link("GentlyGolden-Otter", 2))


async def test_a_space_keeps_its_first_key(backend: Backend) -> None:
    first = await backend.stores.links.open_space("en", None, "digest", b"first")
    again = await backend.stores.links.open_space("en", None, "digest", b"second")
    other = await backend.stores.links.open_space("en", None, "new words", b"third")
    assert again == first
    assert other.id != first.id


async def test_blocks_of_numbers_never_overlap(backend: Backend) -> None:
    space = await backend.stores.links.open_space("en", None, "digest", b"key")

    async def reserve(size: int) -> range:
        async with backend.open_again() as other:
            first = await other.links.reserve(space.id, size)
        return range(first, first + size)

    blocks = await asyncio.gather(*(reserve(size) for size in (1, 7, 100, 3, 1, 20)))
    numbers = list(itertools.chain(*blocks))
    assert sorted(numbers) == list(range(len(numbers)))


async def test_authors_beside_one_another_never_draw_the_same_phrase(backend: Backend) -> None:
    async def write(block: int) -> list[str]:
        async with backend.open_again() as other:
            author = Author(other.links, "en", block=block)
            return [(await author.create(TARGET)).phrase for _ in range(25)]

    phrases = list(itertools.chain(*await asyncio.gather(*(write(block) for block in (1, 4, 10, 100)))))
    assert len(set(phrases)) == 100


async def test_a_drawn_phrase_that_was_taken_by_hand_is_passed_over(backend: Backend) -> None:
    vocabulary = load("en")
    record = await backend.stores.links.open_space("en", None, vocabulary.digest, b"key")
    space = Space("en", None, vocabulary, record.key)
    first, second = (join(space.words(number), "kebab") for number in (0, 1))
    author = Author(backend.stores.links, "en", block=1)
    await author.create("https://example.org/by-hand", first)
    assert (await author.create(TARGET)).phrase == second


@pytest.mark.parametrize(
    "target", ["javascript:alert(1)", "ftp://example.org", "https://", "https://user:pw@example.org"]
)
async def test_a_hostile_target_is_refused_and_nothing_is_kept(backend: Backend, target: str) -> None:
    with pytest.raises(TargetRefused):
        await Author(backend.stores.links, "en", block=1).create(target, "some-phrase")
    assert await backend.stores.links.find("some-phrase") is None


async def test_a_reserved_phrase_is_refused(backend: Backend) -> None:
    with pytest.raises(PhraseRefused):
        await Author(backend.stores.links, "en", block=1).create(TARGET, "Metrics")


async def test_a_visit_that_is_shipped_twice_counts_once(backend: Backend) -> None:
    visits = [Visit(f"visit-{number}", "link-1", NOON) for number in range(3)]
    await backend.stores.visits.append(visits)
    await backend.stores.visits.append([*visits[1:], Visit("visit-9", "link-2", NOON)])
    assert await backend.stores.visits.count("link-1") == 3
    assert await backend.stores.visits.count("link-2") == 1
    assert await backend.stores.visits.count("nobody") == 0


async def test_a_fact_is_remembered_and_can_be_replaced(backend: Backend) -> None:
    assert await backend.stores.facts.get("provider") is None
    await backend.stores.facts.set("provider", "one")
    await backend.stores.facts.set("provider", "two")
    assert await backend.stores.facts.get("provider") == "two"
