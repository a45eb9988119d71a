"""What every store of links does."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.links import NOON, TARGET, a_link
from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.adapters import link_rows
from waypost.sharing.links.link import AlreadyMade, Link, LinkChanged, PhraseTaken
from waypost.sharing.links.rights import is_held
from waypost.sharing.links.store import LinkStore, Position, Wanted

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def links(backend: Backend) -> LinkStore:
    return backend.sharing.links


def edited(link: Link, minutes: int = 5, **changes: Any) -> Link:
    later = link.updated_at + timedelta(minutes=minutes)
    return msgspec.structs.replace(link, version=link.version + 1, updated_at=later, **changes)


async def events(backend: Backend) -> list[tuple[str, str]]:
    return [(event.name, event.subject) for event in await backend.stores.outbox.waiting(100_000)]


FULL = a_link(
    title="A title, “quoted”",
    tags=("summer", "łódź"),
    theme="animals",
    format="spaced",
    expires_at=NOON + timedelta(days=1, microseconds=1),
    max_visits=10**9,
    password="$argon2id$…",
    forward_query=True,
    place_id="0197-place",
    owner="0123456789ab",
    asked="a digest",
    disabled=True,
)


# Adding and finding


@pytest.mark.parametrize("kept", [a_link(), FULL], ids=["plain", "full"])
async def test_a_link_comes_back_as_it_was_kept(links: LinkStore, kept: Link) -> None:
    await links.add(kept, "local")
    assert await links.find(kept.phrase) == kept
    assert await links.get(kept.id) == kept
    assert await links.find("another-otter") is None
    assert await links.get("another") is None


async def test_many_are_found_at_once_each_in_its_place(links: LinkStore) -> None:
    otter, badger = a_link("golden-otter", 1), a_link("silver-badger", 2)
    await links.add_many([otter, badger], "local", atomic=True)
    asked = ["silver-badger", "nobody", "Golden Otter", "SilverBadger"]
    assert await links.find_many(asked) == [badger, None, otter, badger]
    assert await links.find_many([]) == []


@pytest.mark.parametrize(
    "typed", ["GENTLY-GOLDEN-OTTER", "gently golden otter", "GentlyGoldenOtter", "gently_gölden_otter"]
)
async def test_case_separators_and_accents_do_not_matter(links: LinkStore, typed: str) -> None:
    await links.add(a_link("gently-golden-otter"), "local")
    assert await links.find(typed)


@pytest.mark.parametrize(
    "other", ["GentlyGolden-Otter", "gently-go1den-0tter", "gentiy-golden-otter", "gently-golclen-otter"]
)
async def test_no_other_link_gets_a_phrase_that_reads_or_looks_the_same(links: LinkStore, other: str) -> None:
    await links.add(a_link("gently-golden-otter"), "local")
    with pytest.raises(PhraseTaken, match="choose another"):
        await links.add(a_link(other, 2), "local")
    assert await links.get("link-00002") is None


async def test_what_only_looks_like_a_phrase_does_not_lead_to_its_link(links: LinkStore) -> None:
    await links.add(a_link("gently-golden-otter"), "local")
    assert await links.find("gently-go1den-otter") is None


async def test_a_link_with_the_same_id_was_made_already_whatever_its_phrase(links: LinkStore) -> None:
    first = a_link("first-otter")
    await links.add(first, "local")
    await links.add(a_link("second-otter", 2), "local")
    for phrase in ("third-otter", "first-otter", "second-otter"):
        with pytest.raises(AlreadyMade) as raised:
            await links.add(a_link(phrase, 1, asked="again"), "local")
        assert raised.value.link == first


async def test_of_several_who_add_the_same_phrase_at_once_one_succeeds(backend: Backend) -> None:
    async with backend.open_sharing_again() as other:
        tries = [
            stores.links.add(a_link(number=number), "local")
            for number, stores in enumerate((backend.sharing, other) * 5, start=1)
        ]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, PhraseTaken) for outcome in outcomes) == 9
    assert len(await events(backend)) == 1


# Many at once


async def test_many_are_kept_at_once_with_their_histories_tags_and_events(backend: Backend, links: LinkStore) -> None:
    many = [a_link(f"otter-{number}x", number, tags=("many", f"t{number % 3}")) for number in range(1000)]
    assert list(await links.add_many(many, "key:1", atomic=True)) == [None] * 1000
    assert await links.find("otter-999x") == many[999]
    assert [edit.by for edit in await links.history(many[7].id)] == ["key:1"]
    assert len((await links.page(Wanted(tag="t1"), None, 1000)).links) == 333
    assert sorted(await events(backend)) == [("link.created.v1", link.id) for link in many]


async def test_of_many_those_in_whose_way_another_stands_are_left_out(backend: Backend, links: LinkStore) -> None:
    there = a_link("gently-golden-otter")
    await links.add(there, "local")
    first = a_link("first-otter", 2)
    many = [
        first,
        a_link("Gently_Golden_Otter", 3),
        a_link("gently-go1den-otter", 4),
        a_link("FirstOtter", 5),
        a_link("new-otter", 1),
        a_link("last-otter", 6),
    ]
    assert list(await links.add_many(many, "local", atomic=False)) == [None, there, there, first, there, None]
    assert [await links.get(f"link-0000{number}") is not None for number in range(1, 7)] == [
        True,
        True,
        *[False] * 3,
        True,
    ]
    assert len(await events(backend)) == 3


async def test_a_phrase_whose_first_taker_was_left_out_is_free_for_the_next(links: LinkStore) -> None:
    there = a_link("gently-golden-otter")
    await links.add(there, "local")
    many = [a_link("new-otter", 1), a_link("new-otter", 2)]
    assert list(await links.add_many(many, "local", atomic=False)) == [there, None]


async def test_with_atomic_either_all_are_kept_or_nothing_is(backend: Backend, links: LinkStore) -> None:
    there = a_link("gently-golden-otter")
    await links.add(there, "local")
    first = a_link("first-otter", 2, tags=("many",))
    many = [first, a_link("GentlyGoldenOtter", 3), a_link("First_Otter", 4)]
    assert list(await links.add_many(many, "local", atomic=True)) == [None, there, first]
    assert await links.find("first-otter") is None
    assert await links.history(first.id) == []
    assert (await links.page(Wanted(tag="many"), None, 10)).links == []
    assert len(await events(backend)) == 1


async def test_none_at_all_are_kept_without_ado(links: LinkStore) -> None:
    assert list(await links.add_many([], "local", atomic=True)) == []


async def test_two_that_add_many_in_opposite_order_do_not_block_each_other(backend: Backend) -> None:
    numbers = range(200)
    async with backend.open_sharing_again() as other:
        outcomes = await asyncio.gather(
            backend.sharing.links.add_many([a_link(f"otter-{n}x", n) for n in numbers], "a", atomic=False),
            other.links.add_many([a_link(f"otter-{n}x", 1000 + n) for n in reversed(numbers)], "b", atomic=False),
        )
    assert sorted(sum(each is None for each in outcome) for outcome in outcomes) == [0, 200]


# History and events


async def test_every_change_keeps_who_when_before_and_after(links: LinkStore) -> None:
    made = a_link(tags=("one",))
    moved = edited(made, target="https://example.org/other", title="Moved", tags=("two",))
    await links.add(made, "key:1")
    await links.edit(moved, "local")
    first, second = await links.history(made.id)
    assert (first.link_id, first.version, first.at, first.by) == (made.id, 1, made.created_at, "key:1")
    assert (first.before, first.after) == (None, made)
    assert (second.version, second.at, second.by) == (2, moved.updated_at, "local")
    assert (second.before, second.after) == (made, moved)
    assert await links.find(made.phrase) == moved
    assert await links.history("nobody") == []
    assert (await links.history(made.id, limit=1), await links.history(made.id, after=1)) == ([first], [second])


async def test_no_password_is_ever_written_into_the_history_or_an_event(backend: Backend, links: LinkStore) -> None:
    made = a_link(password="$argon2id$secret")
    await links.add(made, "local")
    await links.edit(edited(made, password="$argon2id$another"), "local")
    await links.edit(edited(edited(made), password=None), "local")
    passwords = [
        (edit.before.password if edit.before else None, edit.after.password) for edit in await links.history(made.id)
    ]
    assert passwords == [(None, "***"), ("***", "***"), ("***", None)]
    assert not [event for event in await backend.stores.outbox.waiting(10) if b"argon2" in bytes(event.data)]


async def test_who_disabled_a_link_is_found_in_its_history(links: LinkStore) -> None:
    for number, (disabler, is_by_admin) in enumerate((("key:ada", False), ("key:root", True), ("local", True)), 1):
        off = a_link(f"otter-{number}x", number, owner="ada")
        await links.add(off, "key:ada")
        for by, changes in ((disabler, {"disabled": True}), ("key:ada", {"title": "mine"})):
            off = edited(off, **changes)
            await links.edit(off, by)
        assert await is_held(links, off) is is_by_admin
        assert not await is_held(links, off, disabler)


async def test_an_event_tells_what_a_keeper_of_copies_must_know(backend: Backend, links: LinkStore) -> None:
    made = a_link(expires_at=NOON + timedelta(days=1))
    steps = [made]
    for change in (
        {"target": "https://example.org/other"},
        {"disabled": True},
        {"title": "still"},
        {"disabled": False},
    ):
        steps.append(edited(steps[-1], **change))
    steps.append(edited(steps[-1], deleted=True, disabled=True))
    await links.add(made, "local")
    for step in steps[1:]:
        await links.edit(step, "local")
    told = await backend.stores.outbox.waiting(10)
    kinds = ["created", "edited", "disabled", "edited", "edited", "deleted"]
    assert [event.name for event in told] == [f"link.{kind}.v1" for kind in kinds]
    assert [event.subject for event in told] == [made.id] * 6
    assert [event.occurred_at for event in told] == [step.updated_at for step in steps]
    assert msgspec.json.decode(told[1].data) == {
        "id": made.id,
        "phrase": made.phrase,
        "version": 2,
        "target": "https://example.org/other",
        "disabled": False,
        "expires_at": "2026-02-22T12:00:00Z",
    }


async def test_what_fails_writes_neither_history_nor_event(backend: Backend, links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    with pytest.raises(PhraseTaken):
        await links.add(a_link(number=2, tags=("a",)), "local")
    with pytest.raises(AlreadyMade):
        await links.add(a_link("other-otter"), "local")
    for version in (1, 3):
        with pytest.raises(LinkChanged):
            await links.edit(msgspec.structs.replace(made, version=version), "local")
    with pytest.raises(LinkChanged):
        await links.edit(edited(a_link("unknown-otter", 9)), "local")
    assert len(await links.history(made.id)) == 1
    assert await events(backend) == [("link.created.v1", made.id)]
    assert (await links.page(Wanted(tag="a"), None, 10)).links == []


async def test_of_several_who_edit_a_link_at_once_one_succeeds(backend: Backend, links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    async with backend.open_sharing_again() as other:
        tries = [
            stores.links.edit(edited(made, title=f"{number}"), "local")
            for number, stores in enumerate((backend.sharing, other) * 4)
        ]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, LinkChanged) for outcome in outcomes) == 7
    assert len(await links.history(made.id)) == 2


async def test_a_deleted_link_is_not_listed_and_its_phrase_is_never_free_again(links: LinkStore) -> None:
    made = a_link(tags=("one",), owner="key")
    gone = edited(made, deleted=True)
    await links.add(made, "local")
    await links.edit(gone, "local")
    assert await links.find(made.phrase) == gone
    for wanted in (Wanted(), Wanted(tag="one"), Wanted(owner="key"), Wanted(language="en"), Wanted(text="otter")):
        assert (await links.page(wanted, None, 10)).links == []
    assert await links.to_target(TARGET, "key") is None
    with pytest.raises(PhraseTaken):
        await links.add(a_link(number=2), "local")


# Listing


SOME = [
    a_link("golden-otter", 1, tags=("a",), owner="key-1", title="Summer 100%"),
    a_link("silver-otter", 2, tags=("a", "b"), theme="animals", target="https://example.org/Party_1"),
    a_link("golden-lake", 3, tags=("b",), language="pl", theme="places", owner="key-2"),
    a_link("quiet-moon", 4, language=None, owner="key-1", title="Back\\slash"),
    a_link(
        "quiet-sun",
        5,
        tags=("a",),
        language="pl",
        theme="animals",
        title="Łódź 100 %",
        created_at=a_link(number=4).created_at,
    ),
]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Wanted(), [5, 4, 3, 2, 1]),
        (Wanted(tag="a"), [5, 2, 1]),
        (Wanted(tag="c"), []),
        (Wanted(language="en"), [2, 1]),
        (Wanted(language="en", theme="animals"), [2]),
        (Wanted(theme="animals"), [5, 2]),
        (Wanted(owner="key-1"), [4, 1]),
        (Wanted(owner="key-1", tag="a"), [1]),
        (Wanted(created_from=SOME[1].created_at), [5, 4, 3, 2]),
        (Wanted(created_to=SOME[1].created_at), [1]),
        (Wanted(created_from=SOME[1].created_at, created_to=SOME[3].created_at), [3, 2]),
        (Wanted(tag="a", created_from=SOME[1].created_at), [5, 2]),
        (Wanted(text="GOLDEN"), [3, 1]),
        (Wanted(text="gölden otter"), [1]),
        (Wanted(text="party"), [2]),
        (Wanted(text="summer"), [1]),
        (Wanted(text="100%"), [1]),
        (Wanted(text="%"), [5, 1]),
        (Wanted(text="y_1"), [2]),
        (Wanted(text="t_o"), []),
        (Wanted(text="k\\s"), [4]),
        (Wanted(text="otter", tag="b"), [2]),
        (Wanted(text="'; drop table links; --"), []),
        (Wanted(text="日本"), []),
        (Wanted(text="ŁÓDŹ"), [5]),
        (Wanted(text="łódź 100 %"), [5]),
        (Wanted(text="łódź_100"), []),
        (Wanted(text="(otter)"), []),
        (Wanted(text="/o/"), []),
    ],
)
async def test_links_are_listed_newest_first_by_what_is_wanted(
    links: LinkStore, wanted: Wanted, numbers: list[int]
) -> None:
    await links.add_many(SOME, "local", atomic=True)
    page = await links.page(wanted, None, 10)
    assert page.links == [SOME[number - 1] for number in numbers]
    assert page.next is None


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(tag="a"),
        Wanted(language="en"),
        Wanted(text="otter"),
        Wanted(created_to=NOON + timedelta(hours=1)),
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_together_are_the_whole_list_also_where_times_are_the_same(
    links: LinkStore, wanted: Wanted, limit: int
) -> None:
    many = [a_link(f"otter-{n}x", n, tags=("a",), created_at=NOON + timedelta(minutes=n // 3)) for n in range(10)]
    await links.add_many([*many, a_link("lone-moon", 99, language=None)], "local", atomic=True)
    found: list[Link] = []
    after: Position | None = None
    while True:
        page = await links.page(wanted, after, limit)
        assert len(page.links) <= limit
        found += page.links
        if (after := page.next) is None:
            break
    everything = (await links.page(wanted, None, 100)).links
    assert found == everything
    assert len(found) == (11 if wanted == Wanted() else 10)


@pytest.mark.parametrize("wanted", [Wanted(text="\0"), Wanted(tag="a\0"), Wanted(language="\0"), Wanted(owner="\0")])
async def test_what_no_link_can_have_is_found_nowhere(links: LinkStore, wanted: Wanted) -> None:
    await links.add_many(SOME, "local", atomic=True)
    assert list((await links.page(wanted, None, 10)).links) == []


async def test_a_position_from_elsewhere_does_not_widen_what_is_wanted(links: LinkStore) -> None:
    await links.add_many(SOME, "local", atomic=True)
    page = await links.page(Wanted(created_to=SOME[1].created_at), Position(SOME[4].created_at, SOME[4].id), 10)
    assert page.links == [SOME[0]]


async def test_a_text_is_looked_for_in_some_links_at_a_time(links: LinkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sqlite", "postgres"):
        monkeypatch.setattr(f"waypost.adapters.{module}.links.AT_A_TIME", 3)
    assert link_rows.AT_A_TIME == 50_000
    many = [a_link(f"otter-{n}x", n, title="yes" if n in {0, 9} else "no", tags=("a",)) for n in range(10)]
    await links.add_many(many, "local", atomic=True)
    for tag in (None, "a"):
        found: list[list[Link]] = []
        after: Position | None = None
        while not found or after:
            page = await links.page(Wanted(text="yes", tag=tag), after, 5)
            found.append(list(page.links))
            after = page.next
        assert found == [[many[9]], [], [many[0]]]


async def test_an_edit_moves_a_link_to_its_new_tags(links: LinkStore) -> None:
    made = a_link(tags=("one", "two"))
    moved = edited(made, tags=("two", "three"))
    await links.add(made, "local")
    await links.edit(moved, "local")
    found = {tag: (await links.page(Wanted(tag=tag), None, 10)).links for tag in ("one", "two", "three")}
    assert found == {"one": [], "two": [moved], "three": [moved]}


# Reuse and limits


async def test_an_owner_finds_their_newest_link_to_a_target(links: LinkStore) -> None:
    many = [
        a_link("one-otter", 1),
        a_link("two-otter", 2, owner="key"),
        a_link("three-otter", 3, owner="key"),
        a_link("four-otter", 4, owner="key", target=f"{TARGET}/deeper"),
        a_link("five-otter", 5, owner="key", password="hash"),
        a_link("six-otter", 6, owner="key", max_visits=7),
        a_link("seven-otter", 7, owner="key", disabled=True),
        a_link("eight-otter", 8, owner="key", expires_at=NOON + timedelta(days=10_000)),
    ]
    await links.add_many(many, "local", atomic=True)
    assert await links.to_target(TARGET, "key") == many[2]
    assert await links.to_target(TARGET, "other") is None
    assert await links.to_target(TARGET.upper(), "key") is None


async def test_long_targets_are_told_apart_to_their_ends(links: LinkStore) -> None:
    one, two = (
        a_link(f"{name}-otter", n, target=TARGET + "x" * 1900 + name, owner="key")
        for n, name in enumerate(("one", "two"))
    )
    await links.add_many([one, two], "local", atomic=True)
    assert await links.to_target(one.target, "key") == one


async def test_a_limit_of_visits_is_never_exceeded_however_many_come_at_once(backend: Backend) -> None:
    async with backend.open_sharing_again() as other:
        asked = [stores.links.count_up("link", 7) for stores in (backend.sharing, other) * 10]
        assert sum(await asyncio.gather(*asked)) == 7
        assert await other.links.taken("link") == 7
        assert await other.links.taken("another") == 0
        assert not await other.links.count_up("link", 7)
        assert await other.links.count_up("link", 8)
        assert not await other.links.count_up("link", 3)
        assert not await other.links.count_up("another", 0)
        assert await other.links.count_up("another", 1)
