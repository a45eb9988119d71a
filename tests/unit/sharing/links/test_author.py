"""Links are made as wished, within bounds, and each wish once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.links import TARGET
from support.stores import Backend, open_backend
from waypost.bootstrap.sharing import make_author
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import AskedWrongly, WaypostError
from waypost.sharing.links.author import Author, NoPhraseFree
from waypost.sharing.links.draft import Draft, IdempotencyKeyReused, MadeLink
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.many import MOST_PASSWORDS, NotKept, make_many
from waypost.sharing.links.passwords import fits_password
from waypost.sharing.links.store import Wanted
from waypost.sharing.links.targets import TargetRefused
from waypost.sharing.links.terms import LinkInvalid
from waypost.sharing.phrases.formats import join
from waypost.sharing.phrases.language import UnknownTheme
from waypost.sharing.phrases.matching import PhraseRefused
from waypost.sharing.phrases.space import Space
from waypost.sharing.phrases.vocabulary import UnknownLanguage, Vocabularies

pytestmark = pytest.mark.anyio

LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
def author(backend: Backend) -> Author:
    return make_author(backend.settings, backend.sharing, block=10)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits between two draws; the pauses that there would have been."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("waypost.sharing.links.author.asyncio.sleep", pause)
    return pauses


async def make(author: Author, **wish: Any) -> Link:
    return (await author.make(Draft(**{"target": TARGET, **wish}), "local")).link


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"links.language": "xx"}, r"links\.language \(flag\): there are no phrases in 'xx'; there are in de, en, pl"),
        ({"links.theme": "animal"}, r"links\.theme \(flag\): .*'animal' in English; .*food.* Did you mean animals\?"),
    ],
)
async def test_a_language_or_theme_that_is_set_and_unknown_is_refused_at_the_start(
    tmp_path: Path, flags: dict[str, str], said: str
) -> None:
    async with open_backend("sqlite", tmp_path, flags) as backend:
        with pytest.raises(SettingError, match=said) as refused:
            make_author(backend.settings, backend.sharing, block=10)
    assert [refused.value.parameter] == list(flags)


# One


async def test_a_link_is_kept_as_it_was_wished(backend: Backend, author: Author) -> None:
    made = await author.make(
        Draft(
            target=" https://Example.org/ä ",
            phrase="Summer Party",
            title="  A party  ",
            tags=("Summer", " PARTY  time ", "summer"),
            expires_at=LATER.astimezone(timezone(timedelta(hours=5))),
            max_visits=10,
            password="swordfish",
            forward_query=True,
            place_id="0197",
            owner="key",
        ),
        "key:key",
    )
    link = made.link
    assert (made.how, link.phrase, link.target) == ("new", "Summer Party", "https://example.org/%C3%A4")
    assert (link.title, link.tags) == ("A party", ("summer", "party time"))
    assert (link.expires_at, link.max_visits, link.forward_query) == (LATER, 10, True)
    assert link.expires_at
    assert link.expires_at.tzinfo is UTC
    assert (link.place_id, link.owner, link.language, link.theme) == ("0197", "key", None, None)
    assert link.password
    assert link.password.startswith("$argon2id$")
    assert fits_password(link.password, "swordfish")
    assert not fits_password(link.password, "Swordfish")
    assert await backend.sharing.links.find("summerparty") == link
    assert [edit.by for edit in await backend.sharing.links.history(link.id)] == ["key:key"]


async def test_a_phrase_is_drawn_in_the_language_theme_and_format_that_are_set_or_wished(tmp_path: Path) -> None:
    flags = {"links.language": "pl", "links.theme": "animals", "links.format": "snake"}
    async with open_backend("sqlite", tmp_path, flags) as backend:
        author = make_author(backend.settings, backend.sharing, block=1)
        usual = await make(author)
        assert (usual.language, usual.theme, usual.format) == ("pl", "animals", "snake")
        assert "_" in usual.phrase
        english = await make(author, language="en", format="pascal")
        assert (english.language, english.theme, english.format) == ("en", None, "pascal")
        assert english.phrase.isalpha()
        assert (await make(author, theme="")).theme is None
        assert (await make(author, theme="food", language="en")).theme == "food"
        assert " " in (await make(author, format="spaced")).phrase


async def test_a_drawn_phrase_that_was_taken_by_hand_is_passed_over(
    backend: Backend, author: Author, quick: list[float]
) -> None:
    vocabulary = Vocabularies().vocabulary("en")
    record = await backend.sharing.spaces.open_space("en", None, vocabulary.digest, b"key")
    space = Space("en", None, vocabulary, record.key)
    first, second = (join(space.words(number), "kebab") for number in (0, 1))
    await make(author, phrase=first)
    assert (await make(author)).phrase == second
    assert len(quick) == 1


async def test_draws_are_tried_five_times_with_growing_pauses(
    backend: Backend, author: Author, quick: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    async def draw(_language: str, _theme: str | None = None) -> tuple[str, ...]:
        drawn.append("otter")
        return ("golden", "otter", str(len(drawn)))

    monkeypatch.setattr(author._drawing, "draw", draw)
    for number in range(1, 5):
        await make(author, phrase=f"golden-otter-{number}")
    assert (await make(author)).phrase == "golden-otter-5"
    assert len(quick) == 4
    assert all(pause <= 0.01 * 2**attempt for attempt, pause in enumerate(quick))
    drawn.clear()
    with pytest.raises(NoPhraseFree):
        await make(author)
    assert len(drawn) == 5


async def test_a_phrase_that_was_asked_for_and_is_taken_is_refused_at_once(author: Author, quick: list[float]) -> None:
    await make(author, phrase="summer-party")
    with pytest.raises(PhraseTaken, match="SummerParty"):
        await make(author, phrase="SummerParty")
    assert quick == []


@pytest.mark.parametrize(
    ("wish", "refusal", "parameter"),
    [
        ({"target": "javascript:alert(1)"}, TargetRefused, "target"),
        ({"target": "http://127.0.0.1:8080/otter"}, TargetRefused, "target"),
        ({"target": "http://10.0.0.1/"}, TargetRefused, "target"),
        ({"phrase": "Metrics"}, PhraseRefused, "phrase"),
        ({"phrase": ""}, PhraseRefused, "phrase"),
        ({"language": "xx"}, UnknownLanguage, "language"),
        ({"theme": "no such theme"}, UnknownTheme, "theme"),
        ({"title": "x" * 201}, LinkInvalid, "title"),
        ({"title": "a\nb"}, LinkInvalid, "title"),
        ({"title": "a\0b"}, LinkInvalid, "title"),
        ({"title": "a\ud800"}, LinkInvalid, "title"),
        ({"title": "a\N{RIGHT-TO-LEFT OVERRIDE}b"}, LinkInvalid, "title"),
        ({"tags": tuple(map(str, range(21)))}, LinkInvalid, "tags"),
        ({"tags": ("x" * 41,)}, LinkInvalid, "tags"),
        ({"tags": ("",)}, LinkInvalid, "tags"),
        ({"tags": ("a,b",)}, LinkInvalid, "tags"),
        ({"tags": ("a\0b",)}, LinkInvalid, "tags"),
        ({"max_visits": 0}, LinkInvalid, "max_visits"),
        ({"max_visits": 10**9 + 1}, LinkInvalid, "max_visits"),
        ({"expires_at": datetime.now(UTC) - timedelta(seconds=1)}, LinkInvalid, "expires_at"),
        ({"expires_at": LATER.replace(tzinfo=None)}, LinkInvalid, "expires_at"),
        (
            {"expires_at": datetime(9999, 12, 31, 23, 59, tzinfo=timezone(timedelta(hours=-23)))},
            LinkInvalid,
            "expires_at",
        ),
        ({"password": ""}, LinkInvalid, "password"),
        ({"password": "x" * 201}, LinkInvalid, "password"),
        ({"password": "\ud800"}, LinkInvalid, "password"),
        ({"place_id": "x" * 101}, LinkInvalid, "place_id"),
    ],
)
async def test_what_is_out_of_bounds_is_refused_and_nothing_is_kept(
    backend: Backend, author: Author, wish: dict[str, Any], refusal: type[AskedWrongly], parameter: str
) -> None:
    with pytest.raises(refusal) as refused:
        await make(author, **wish)
    assert refused.value.parameter == parameter
    assert (await backend.sharing.links.page(Wanted(), None, 10)).links == []


async def test_what_is_just_within_bounds_is_taken(author: Author) -> None:
    wish = {
        "title": "x" * 200,
        "tags": tuple(f"{n:040}" for n in range(20)),
        "max_visits": 10**9,
        "password": "x" * 200,
    }
    link = await make(author, **wish)
    assert (len(link.title), len(link.tags)) == (200, 20)


async def test_a_page_of_our_own_may_be_a_target_if_we_say_so(author: Author) -> None:
    page = "http://127.0.0.1:8080/places/1"
    made = await author.make(Draft(target=page, place_id="1"), "local", inside=True)
    assert made.link.target == page


# Reuse and repetition


async def test_reuse_gives_the_owners_own_link_to_the_same_target(author: Author) -> None:
    first = await make(author, owner="ada")
    again = await author.make(Draft(target=TARGET, owner="ada", reuse=True), "key:ada")
    assert (again.link, again.how) == (first, "reused")
    wishes: list[dict[str, Any]] = [
        {"owner": "bob"},
        {"owner": None},
        {"target": f"{TARGET}2"},
        {"phrase": "by-hand"},
        {"password": "secret"},
        {"max_visits": 3},
        {"expires_at": LATER},
        {"forward_query": True},
        {"place_id": "7"},
    ]
    for wish in wishes:
        wanted: dict[str, Any] = {"target": TARGET, "owner": "ada", "reuse": True} | wish
        assert (await author.make(Draft(**wanted), "key:ada")).how == "new", wish


async def test_the_same_request_again_gets_the_link_that_it_made(backend: Backend, author: Author) -> None:
    wish = Draft(target=TARGET, idempotency="key-1", owner="ada", password="secret", tags=("a",))
    first = await author.make(wish, "key:ada")
    again = await author.make(wish, "key:ada")
    assert (first.how, again.how) == ("new", "repeated")
    assert again.link == first.link
    other = await author.make(msgspec.structs.replace(wish, owner="bob"), "key:bob")
    assert other.how == "new"
    assert len((await backend.sharing.links.page(Wanted(), None, 10)).links) == 2


async def test_another_request_with_the_same_key_is_refused(author: Author) -> None:
    wish = Draft(target=TARGET, idempotency="key-1")
    await author.make(wish, "local")
    changes: list[dict[str, Any]] = [
        {"target": f"{TARGET}2"},
        {"title": "other"},
        {"password": "x"},
        {"phrase": "by-hand"},
    ]
    for change in changes:
        with pytest.raises(IdempotencyKeyReused):
            await author.make(msgspec.structs.replace(wish, **change), "local")


async def test_a_deleted_link_is_not_given_again_for_its_key(author: Author, backend: Backend) -> None:
    wish = Draft(target=TARGET, idempotency="key-1")
    link = (await author.make(wish, "local")).link
    await backend.sharing.links.edit(msgspec.structs.replace(link, deleted=True, version=link.version + 1), "local")
    with pytest.raises(IdempotencyKeyReused, match="deleted"):
        await author.make(wish, "local")


async def test_a_repetition_is_right_also_when_its_time_has_passed(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    wish = Draft(target=TARGET, idempotency="key-1", expires_at=LATER)
    first = await author.make(wish, "local")
    for module in ("author", "many"):
        monkeypatch.setattr(f"waypost.sharing.links.{module}.utc_now", lambda: LATER + timedelta(days=1))
    assert (await author.make(wish, "local")).link == first.link
    [again] = await make_many(author, [wish], "local", atomic=True)
    assert again == MadeLink(first.link, "repeated")


async def test_of_the_same_request_many_times_at_once_one_makes_a_link(backend: Backend) -> None:
    async with backend.open_sharing_again() as other:
        authors = [make_author(backend.settings, stores, block=1) for stores in (backend.sharing, other)] * 4
        wish = Draft(target=TARGET, idempotency="key-1", phrase="by-hand")
        made = await asyncio.gather(*(each.make(wish, "local") for each in authors))
    assert sorted(each.how for each in made) == ["new"] + ["repeated"] * 7
    assert len({each.link.id for each in made}) == 1


# Many


def told(outcomes: Sequence[MadeLink | WaypostError]) -> list[str]:
    return [each.how if isinstance(each, MadeLink) else each.slug for each in outcomes]


async def test_each_of_many_gets_an_answer_of_its_own(backend: Backend, author: Author) -> None:
    await make(author, phrase="taken-already")
    drafts = [
        Draft(target=TARGET),
        Draft(target="javascript:alert(1)"),
        Draft(target=TARGET, phrase="mine"),
        Draft(target=TARGET, phrase="MINE"),
        Draft(target=TARGET, phrase="taken-already"),
        Draft(target=TARGET, language="xx"),
        Draft(target=TARGET, password="same"),
        Draft(target=TARGET, password="same"),
    ]
    outcomes = await make_many(author, drafts, "key:1", atomic=False)
    refused = ["new", "target-refused", "new", "phrase-taken", "phrase-taken", "unknown-language", "new", "new"]
    assert told(outcomes) == refused
    assert len((await backend.sharing.links.page(Wanted(), None, 10)).links) == 5
    kept = [each.link for each in outcomes if isinstance(each, MadeLink)]
    assert [await backend.sharing.links.get(link.id) for link in kept] == kept


@pytest.mark.parametrize("bad", [{"target": "ftp://x"}, {"phrase": "taken-already"}, {"language": "xx"}])
async def test_with_atomic_one_that_is_refused_keeps_all_from_being_made(
    backend: Backend, author: Author, bad: dict[str, Any]
) -> None:
    await make(author, phrase="taken-already")
    drafts = [Draft(target=TARGET), Draft(**{"target": TARGET} | bad), Draft(target=TARGET, phrase="mine")]
    outcomes = await make_many(author, drafts, "local", atomic=True)
    assert [isinstance(each, NotKept) for each in outcomes] == [True, False, True]
    assert isinstance(outcomes[1], WaypostError)
    assert len((await backend.sharing.links.page(Wanted(), None, 10)).links) == 1
    assert told(await make_many(author, [drafts[0], drafts[2]], "local", atomic=True)) == ["new", "new"]


@pytest.mark.parametrize("atomic", [True, False])
async def test_of_many_drawn_ones_those_that_are_taken_by_hand_are_drawn_again(
    author: Author, quick: list[float], monkeypatch: pytest.MonkeyPatch, *, atomic: bool
) -> None:
    numbers = iter(range(1, 100))

    async def draw(_language: str, _theme: str | None = None) -> tuple[str, ...]:
        return ("golden", "otter", str(next(numbers)))

    monkeypatch.setattr(author._drawing, "draw", draw)
    await make(author, phrase="golden-otter-2")
    await make(author, phrase="golden-otter-4")
    outcomes = await make_many(author, [Draft(target=TARGET) for _ in range(3)], "local", atomic=atomic)
    phrases = [each.link.phrase for each in outcomes if isinstance(each, MadeLink)]
    assert phrases == ["golden-otter-1", "golden-otter-5", "golden-otter-3"]
    assert len(quick) == 2


async def test_a_repeated_request_of_many_makes_none_twice(backend: Backend, author: Author) -> None:
    drafts = [Draft(target=TARGET), Draft(target=TARGET, phrase="mine"), Draft(target=f"{TARGET}3")]
    first = await make_many(author, drafts[:2], "local", atomic=False, idempotency="key-1")
    again = await make_many(author, drafts, "local", atomic=True, idempotency="key-1")
    assert (told(first), told(again)) == (["new"] * 2, ["repeated", "repeated", "new"])
    other = await make_many(author, [Draft(target=f"{TARGET}4")], "local", atomic=False, idempotency="key-1")
    assert told(other) == ["idempotency-key-reused"]
    assert len((await backend.sharing.links.page(Wanted(), None, 10)).links) == 3


async def test_of_many_that_may_be_reused_those_to_the_same_target_share_a_link(author: Author) -> None:
    old = await make(author, target=f"{TARGET}/old")
    drafts = [Draft(target=target, reuse=True) for target in (TARGET, f"{TARGET}/old", TARGET, f"{TARGET}/2")]
    outcomes = await make_many(author, drafts, "local", atomic=False)
    assert told(outcomes) == ["new", "reused", "reused", "new"]
    links = [each.link for each in outcomes if isinstance(each, MadeLink)]
    assert links[1] == old
    assert links[0] == links[2]


async def test_passwords_of_many_are_bounded(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.sharing.links.many.MOST_PASSWORDS", 2)
    assert MOST_PASSWORDS == 100
    drafts = [Draft(target=TARGET, password=word) for word in ("a", "b", "a", "c")]
    assert told(await make_many(author, drafts, "local", atomic=False)) == ["new", "new", "new", "link-invalid"]


async def test_ten_thousand_are_made_at_once(backend: Backend) -> None:
    author = make_author(backend.settings, backend.sharing, block=1000)
    drafts = [Draft(target=f"{TARGET}/{number}", tags=("many",)) for number in range(10_000)]
    outcomes = await make_many(author, drafts, "local", atomic=True)
    assert told(outcomes) == ["new"] * 10_000
    assert len({each.link.phrase for each in outcomes if isinstance(each, MadeLink)}) == 10_000
