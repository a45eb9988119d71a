"""Links that strangers make where everybody may: nobody owns them, and nobody else is ever given one."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, TARGET, Service, link_service
from waypost.bootstrap.sharing import link_operations
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.link import Link

pytestmark = pytest.mark.anyio

SHARE = "/v1/places/sim:1/link"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, {"links.anonymous": "on"}, places=3) as opened:
        yield opened


async def share(links: Service, **more: Any) -> Any:
    answer = await links.ask("POST", SHARE, **more)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


async def test_the_operators_share_link_is_not_one_that_a_stranger_can_change(links: Service) -> None:
    theirs = await share(links, peer=BEYOND)
    ours = await share(links)
    assert ours["phrase"] != theirs["phrase"]
    token = {"X-Edit-Token": theirs["edit_token"]}
    moved = await links.change(theirs["phrase"], peer=BEYOND, headers=token, target="https://evil.example/")
    assert moved.status_code == 200
    assert (await links.get(f"/{ours['phrase']}")).headers["location"].startswith("/collections/places/items/")
    assert (await share(links))["phrase"] == ours["phrase"]


async def test_reuse_never_hands_out_a_strangers_link(links: Service) -> None:
    theirs = (await links.create(peer=BEYOND)).json()
    assert (await links.make(reuse=True))["phrase"] != theirs["phrase"]
    key = await links.key()
    assert (await links.make(key=key, reuse=True))["phrase"] != theirs["phrase"]
    operations = await link_operations(links.settings, links.stores)
    by_command = await operations.create(links.parts.author, Draft(target=TARGET, reuse=True))
    assert by_command.phrase != theirs["phrase"]


async def test_a_stranger_learns_nothing_of_the_operators_share_link(links: Service) -> None:
    ours = await share(links)
    first, second = await share(links, peer=BEYOND), await share(links, peer=BEYOND)
    assert len({link["phrase"] for link in (ours, first, second)}) == 3
    assert first["edit_token"] != second["edit_token"]
    assert_problem(await links.create(peer=BEYOND, reuse=True), 400, "link-invalid")


async def test_the_operators_links_and_those_of_strangers_are_told_apart(links: Service) -> None:
    ours, theirs = await links.make(), (await links.create(peer=BEYOND)).json()
    operations = await link_operations(links.settings, links.stores)
    by_command = await operations.create(links.parts.author, Draft(target=TARGET))
    assert (ours["owner"], by_command.owner, theirs["owner"]) == ("local", "local", None)


async def test_no_edit_token_opens_a_link_of_the_operator(links: Service) -> None:
    ours = await links.make()
    found = await links.stores.links.get(ours["id"])
    assert isinstance(found, Link)
    token = {"X-Edit-Token": links.parts.edit_tokens.of(found)}
    assert_problem(await links.change(ours["phrase"], peer=BEYOND, headers=token, title="x"), 404, "unknown-link")


async def test_a_repetition_hands_no_edit_token_to_whoever_repeats_it(links: Service) -> None:
    """Many people share an address: behind a router, or behind a proxy that we were not told of."""
    key = {"Idempotency-Key": "1"}
    first = (await links.create(peer=BEYOND, headers=key)).json()
    again = await links.create(peer=BEYOND, headers=key)
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert "edit_token" not in again.json()


async def test_a_strangers_idempotency_key_is_never_the_operators(links: Service) -> None:
    key = {"Idempotency-Key": "1"}
    ours = (await links.create(headers=key)).json()
    theirs = (await links.create(peer=BEYOND, headers=key)).json()
    assert ours["id"] != theirs["id"]


async def test_an_edit_token_reads_what_became_of_its_link_and_of_no_other(links: Service) -> None:
    mine, other = (await links.create(peer=BEYOND)).json(), (await links.create(peer=BEYOND)).json()
    holder: dict[str, Any] = {"peer": BEYOND, "headers": {"X-Edit-Token": mine["edit_token"]}}
    for path in ("", "/stats", "/visits", "/history"):
        assert (await links.get(f"/v1/links/{mine['phrase']}{path}", **holder)).status_code == 200
        assert_problem(await links.get(f"/v1/links/{other['phrase']}{path}", **holder), 404, "unknown-link")
    assert_problem(await links.get("/v1/links", **holder), 403, "loopback-only")


async def test_the_history_that_a_stranger_reads_names_no_key_of_ours(links: Service) -> None:
    mine = (await links.create(peer=BEYOND)).json()
    token = {"X-Edit-Token": mine["edit_token"]}
    await links.change(mine["phrase"], peer=BEYOND, headers=token, title="one")
    await links.change(mine["phrase"], key=await links.key("admin"), title="two")
    await links.change(mine["phrase"], title="three")
    path = f"/v1/links/{mine['phrase']}/history"
    told = (await links.get(path, peer=BEYOND, headers=token)).json()["edits"]
    assert [edit["by"] for edit in told] == ["anonymous", "anonymous", "admin", "admin"]
    known = (await links.get(path)).json()["edits"]
    assert [edit["by"].partition(":")[0] for edit in known] == ["anonymous", "anonymous", "key", "local"]
