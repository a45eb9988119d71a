"""A link can be changed by those it belongs to, whatever others do to it at the same moment."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.links import TARGET, a_link
from support.stores import Backend, open_backend
from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.keys import make_key
from waypost.kernel.errors import AskedWrongly
from waypost.sharing.links import rights
from waypost.sharing.links.editing import delete, edit
from waypost.sharing.links.link import Changes, Link, LinkChanged, UnknownLink
from waypost.sharing.links.passwords import fits_password
from waypost.sharing.links.rights import DisabledByAdmin, Rights, open_edit_tokens
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import TargetRefused, TargetRules

pytestmark = pytest.mark.anyio

RULES = TargetRules(own=frozenset({"go.example.org"}))
LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
def links(backend: Backend) -> LinkStore:
    return backend.sharing.links


async def change(links: LinkStore, link: Link, **changes: Any) -> Link:
    return await edit(links, RULES, link, Changes(**changes), "local")


async def test_what_is_named_changes_and_the_rest_stays(links: LinkStore) -> None:
    made = a_link(title="before", tags=("one",), max_visits=7, password="hash")
    await links.add(made, "key:1")
    changed = await change(links, made, target="https://example.org/new", expires_at=LATER, tags=("Two", "two"))
    wanted = {"target": "https://example.org/new", "expires_at": LATER, "tags": ("two",), "version": 2}
    assert changed == msgspec.structs.replace(made, updated_at=changed.updated_at, **wanted)
    assert changed.updated_at > made.updated_at
    assert await links.find(made.phrase) == changed
    assert [edit.by for edit in await links.history(made.id)] == ["key:1", "local"]


async def test_null_takes_away_what_was_there(links: LinkStore) -> None:
    made = a_link(max_visits=7, password="hash", expires_at=LATER, title="party", tags=("a",))
    await links.add(made, "local")
    cleared = dict.fromkeys(("max_visits", "password", "expires_at", "title", "tags"))
    changed = await change(links, made, **cleared)
    assert (changed.max_visits, changed.password, changed.expires_at) == (None,) * 3
    assert (changed.title, changed.tags) == ("", ())


async def test_a_new_password_is_hashed(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    changed = await change(links, made, password="swordfish")
    assert changed.password
    assert fits_password(changed.password, "swordfish")


async def test_a_change_that_changes_nothing_is_none(links: LinkStore) -> None:
    made = a_link(title="same", expires_at=datetime(2020, 1, 1, tzinfo=UTC), target="http://go.example.org/places/1")
    await links.add(made, "local")
    same = {"title": "same", "expires_at": made.expires_at, "target": made.target, "disabled": False}
    assert await change(links, made, **same) == made
    assert await change(links, made) == made
    assert len(await links.history(made.id)) == 1


async def test_all_who_change_different_fields_at_the_same_moment_succeed(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    changes: list[dict[str, Any]] = [{"title": "new"}, {"max_visits": 7}, {"expires_at": LATER}, {"tags": ("two",)}]
    await asyncio.gather(*(change(links, made, **each) for each in changes * 6))
    now = await links.get(made.id)
    assert now
    assert (now.title, now.max_visits, now.expires_at, now.tags) == ("new", 7, LATER, ("two",))


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "http://GO.example.org.:8080/otter"},
        {"target": "javascript:alert(1)"},
        {"target": "http://10.0.0.1/"},
        {"title": "x" * 201},
        {"tags": ("x" * 41,)},
        {"max_visits": 0},
        {"password": ""},
        {"expires_at": datetime(2020, 1, 1, tzinfo=UTC)},
    ],
)
async def test_a_change_is_held_to_the_same_bounds_as_a_new_link(links: LinkStore, changes: dict[str, Any]) -> None:
    made = a_link()
    await links.add(made, "local")
    with pytest.raises(AskedWrongly) as refused:
        await change(links, made, **changes)
    assert refused.value.parameter == next(iter(changes))
    assert await links.get(made.id) == made


async def test_a_link_can_be_disabled_and_enabled_again(backend: Backend, links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    off = await change(links, made, disabled=True)
    on = await change(links, off, disabled=False)
    assert (off.disabled, on.disabled) == (True, False)
    names = [event.name for event in await backend.stores.outbox.waiting(10)]
    assert names == ["link.created.v1", "link.disabled.v1", "link.edited.v1"]


async def test_a_deleted_link_cannot_be_changed_any_more(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    gone = await delete(links, made, "local")
    assert gone.deleted
    for stale in (made, gone):
        with pytest.raises(UnknownLink):
            await change(links, stale, title="late")
        with pytest.raises(UnknownLink):
            await delete(links, stale, "local")
    assert len(await links.history(made.id)) == 2


async def test_changes_of_different_things_at_once_are_all_kept(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    changes: list[dict[str, Any]] = [{"title": "new"}, {"tags": ("a",)}, {"max_visits": 7}, {"forward_query": True}]
    await asyncio.gather(*(change(links, made, **each) for each in changes))
    now = await links.get(made.id)
    assert now
    assert (now.title, now.tags, now.max_visits, now.forward_query) == ("new", ("a",), 7, True)
    assert [edit.version for edit in await links.history(made.id)] == [1, 2, 3, 4, 5]


async def test_who_is_never_quick_enough_gives_up(links: LinkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = a_link()
    await links.add(made, "local")
    tries = []

    async def slow(link: Link, by: str) -> None:
        tries.append(by)
        raise LinkChanged.of(link)

    monkeypatch.setattr(links, "edit", slow)
    with pytest.raises(LinkChanged):
        await change(links, made, title="late")
    assert len(tries) == 20


# What an administrator has disabled


OWNER, ADMIN, OTHER_ADMIN = "key:0123456789ab", "key:aaaaaaaaaaaa", "key:bbbbbbbbbbbb"


async def owned(links: LinkStore) -> Link:
    made = a_link(owner=OWNER.removeprefix("key:"))
    await links.add(made, OWNER)
    return made


async def switch(links: LinkStore, link: Link, by: str, *, off: bool, **changes: Any) -> Link:
    is_admin = by in {ADMIN, OTHER_ADMIN}
    return await edit(links, RULES, link, Changes(disabled=off, **changes), by, is_admin=is_admin)


@pytest.mark.parametrize("admin", [ADMIN, "local"])
async def test_what_an_administrator_has_disabled_only_one_enables(links: LinkStore, admin: str) -> None:
    off = await switch(links, await owned(links), admin, off=True)
    # Whatever its author does to it meanwhile.
    for number in range(3):
        off = await edit(links, RULES, off, Changes(title=f"{number}"), OWNER)
    with pytest.raises(DisabledByAdmin, match="an administrator disabled"):
        await switch(links, off, OWNER, off=False)
    on = await switch(links, off, OTHER_ADMIN, off=False)
    # And then it is its author's again.
    off = await switch(links, on, OWNER, off=True)
    assert not (await switch(links, off, OWNER, off=False)).disabled


async def test_the_command_line_enables_what_any_administrator_has_disabled(links: LinkStore) -> None:
    off = await switch(links, await owned(links), ADMIN, off=True)
    assert not (await switch(links, off, "local", off=False)).disabled


@pytest.mark.parametrize("admin", [ADMIN, "local"])
async def test_an_administrator_who_disables_what_is_disabled_already_means_it(links: LinkStore, admin: str) -> None:
    off = await switch(links, await owned(links), OWNER, off=True)
    held = await switch(links, off, admin, off=True)
    assert [each.by for each in await links.history(held.id)] == [OWNER, OWNER, admin]
    assert await switch(links, held, admin, off=True) == held
    with pytest.raises(DisabledByAdmin):
        await switch(links, held, OWNER, off=False)


async def test_who_was_slower_than_an_administrator_does_not_undo_it(links: LinkStore) -> None:
    made = await owned(links)
    off = await switch(links, made, OWNER, off=True)
    await switch(links, off, ADMIN, off=True, title="phishing")
    with pytest.raises(DisabledByAdmin):
        await switch(links, off, OWNER, off=False)


async def test_long_histories_are_searched_to_where_it_was_disabled(
    links: LinkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rights, "_AT_A_TIME", 3)
    for disabler, is_refused in ((ADMIN, True), (OWNER, False)):
        made = a_link(f"{disabler[4:]}-otter", ord(disabler[4]), owner=OWNER.removeprefix("key:"))
        await links.add(made, OWNER)
        off = await switch(links, made, disabler, off=True)
        for number in range(10):
            off = await edit(links, RULES, off, Changes(title=f"{number}"), OWNER)
        assert await rights.is_held(links, off) is is_refused


async def test_who_has_a_key_and_an_edit_token_may_undo_what_they_did(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "anonymous")
    off = await switch(links, made, OWNER, off=True)
    assert not (await switch(links, off, OWNER, off=False)).disabled


# Rights


def key(*scopes: str) -> Caller:
    return Caller(make_key("ada", scopes, datetime.now(UTC))[0])


async def test_a_link_belongs_to_its_key_its_token_an_admin_and_this_machine(backend: Backend) -> None:
    tokens = await open_edit_tokens(backend.stores.facts)
    owner, reader, other, admin = key("links:write"), key("links:read"), key("links:write"), key("admin")
    owned, anonymous = a_link(owner=owner.owner), a_link(number=2)
    assert Rights(owner, tokens).may_edit(owned)
    assert Rights(admin, tokens).may_edit(owned)
    assert Rights(LOCAL, tokens).may_edit(owned)
    assert Rights(ANONYMOUS, tokens, tokens.of(anonymous)).may_edit(anonymous)
    assert Rights(other, tokens, tokens.of(anonymous)).may_edit(anonymous)
    for caller, link, token in (
        (other, owned, None),
        (reader, a_link(owner=reader.owner), None),
        (ANONYMOUS, owned, None),
        (ANONYMOUS, owned, tokens.of(owned)),
        (ANONYMOUS, anonymous, None),
        (ANONYMOUS, anonymous, ""),
        (ANONYMOUS, anonymous, tokens.of(owned)),
        (ANONYMOUS, anonymous, "ł\ud800"),
        (owner, anonymous, None),
    ):
        assert not Rights(caller, tokens, token).may_edit(link)


async def test_all_who_share_a_store_give_out_the_same_tokens(backend: Backend) -> None:
    async with backend.open_again() as other:
        opened = await asyncio.gather(*(open_edit_tokens(each.facts) for each in (backend.stores, other) * 3))
    assert len({tokens.of(a_link()) for tokens in opened}) == 1
    assert opened[0].of(a_link()) != opened[0].of(a_link(number=2))
    assert TARGET not in opened[0].of(a_link())


async def test_a_loop_is_refused_also_after_an_edit(links: LinkStore) -> None:
    made = a_link()
    await links.add(made, "local")
    with pytest.raises(TargetRefused, match="this site itself"):
        await change(links, made, target=f"https://go.example.org/{made.phrase}")
