"""Links are changed and deleted over HTTP, by those whose they are."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, TARGET, Service, link_service

pytestmark = pytest.mark.anyio


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


FULL: dict[str, Any] = {
    "title": "Party",
    "tags": ["party"],
    "expires_at": "2040-01-01T00:00:00Z",
    "max_visits": 7,
    "forward_query": True,
}


async def test_what_is_left_out_stays_and_null_clears(links: Service) -> None:
    await links.make(phrase="otter", password="hunter2", **FULL)
    changed = (await links.change("otter", title="Winter party")).json()
    assert {name: changed[name] for name in FULL} == FULL | {"title": "Winter party"}
    assert (changed["version"], changed["protected"]) == (2, True)
    nothing = dict.fromkeys(("title", "tags", "expires_at", "max_visits", "password"))
    cleared = (await links.change("otter", **nothing)).json()
    assert (cleared["title"], cleared["tags"], cleared["expires_at"], cleared["max_visits"]) == ("", [], None, None)
    assert cleared["protected"] is False


async def test_a_changed_target_is_where_the_link_leads_at_once(links: Service) -> None:
    await links.make(phrase="otter")
    assert (await links.get("/otter")).headers["location"] == TARGET
    await links.change("otter", target="https://example.com/elsewhere")
    assert (await links.get("/otter")).headers["location"] == "https://example.com/elsewhere"


async def test_a_disabled_link_leads_nowhere_at_once_and_can_be_enabled_again(links: Service) -> None:
    await links.make(phrase="otter")
    assert (await links.get("/otter")).status_code == 302
    assert (await links.change("otter", disabled=True)).json()["disabled"] is True
    assert (await links.get("/otter")).status_code == 410
    await links.change("otter", disabled=False)
    assert (await links.get("/otter")).status_code == 302


async def test_an_author_cannot_enable_what_an_administrator_has_disabled(links: Service) -> None:
    author, admin = await links.key(), await links.key("admin")
    await links.make(phrase="otter", key=author)
    for disabler in (admin, None):
        assert (await links.change("otter", disabled=True, key=disabler)).status_code == 200
        refused = assert_problem(await links.change("otter", disabled=False, key=author), 403, "disabled-by-admin")
        assert "an administrator disabled" in refused["detail"]
        assert (await links.get("/otter")).status_code == 410
        assert (await links.change("otter", title="mine", key=author)).status_code == 200
        assert (await links.change("otter", disabled=False, key=admin)).status_code == 200
        assert (await links.get("/otter")).status_code == 302
    for off in (True, False):
        assert (await links.change("otter", disabled=off, key=author)).json()["disabled"] is off


async def test_an_edit_token_does_not_enable_what_an_administrator_has_disabled(tmp_path: Path) -> None:
    async with link_service(tmp_path / "anonymous", {"links.anonymous": "on"}) as links:
        made = (await links.create(phrase="otter", peer=BEYOND)).json()
        mine: dict[str, Any] = {"headers": {"X-Edit-Token": made["edit_token"]}, "peer": BEYOND}
        for off in (True, False):
            assert (await links.change("otter", disabled=off, **mine)).json()["disabled"] is off
        await links.change("otter", disabled=True, key=await links.key("admin"))
        assert_problem(await links.change("otter", disabled=False, **mine), 403, "disabled-by-admin")
        assert (await links.ask("DELETE", "/v1/links/otter", **mine)).status_code == 204


async def test_a_deleted_link_leads_nowhere_and_its_phrase_is_never_given_out_again(links: Service) -> None:
    await links.make(phrase="otter")
    assert (await links.get("/otter")).status_code == 302
    gone = await links.ask("DELETE", "/v1/links/otter")
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await links.get("/otter")).status_code == 410
    for method in ("GET", "DELETE"):
        assert_problem(await links.ask(method, "/v1/links/otter"), 404, "unknown-link")
    assert_problem(await links.change("otter", title="x"), 404, "unknown-link")
    assert_problem(await links.create(phrase="Otter"), 409, "phrase-taken")


async def test_a_link_that_nobody_followed_yet_can_be_followed_once_it_is_made(links: Service) -> None:
    assert (await links.get("/otter")).status_code == 404
    await links.make(phrase="otter")
    assert (await links.get("/otter")).status_code == 302


@pytest.mark.parametrize(
    ("changes", "slug", "parameter"),
    [
        ({"phrase": "badger"}, "bad-parameter", "phrase"),
        ({"owner": "me"}, "bad-parameter", "owner"),
        ({"visits": 1}, "bad-parameter", "visits"),
        ({"version": 9}, "bad-parameter", "version"),
        ({"deleted": True}, "bad-parameter", "deleted"),
        ({"target": None}, "bad-parameter", "target"),
        ({"disabled": None}, "bad-parameter", "disabled"),
        ({"disabled": 1}, "bad-parameter", "disabled"),
        ({"target": "javascript:alert(1)"}, "target-refused", "target"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "link-invalid", "expires_at"),
    ],
)
async def test_a_change_that_will_not_do_is_refused_and_changes_nothing(
    links: Service, changes: dict[str, Any], slug: str, parameter: str
) -> None:
    before = await links.make(phrase="otter")
    document = assert_problem(await links.change("otter", **{"title": "x"} | changes), 400, slug)
    assert document["parameter"] == parameter
    assert (await links.get("/v1/links/otter")).json() == before


async def test_a_change_of_nothing_is_no_change(links: Service) -> None:
    await links.make(phrase="otter")
    assert (await links.change("otter")).json()["version"] == 1


async def test_a_merge_patch_is_taken_too(links: Service) -> None:
    await links.make(phrase="otter")
    headers = {"Content-Type": "application/merge-patch+json"}
    answer = await links.ask("PATCH", "/v1/links/otter", headers=headers, content=b'{"title": "x"}')
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_who_says_which_version_they_mean_changes_no_other(links: Service, method: str) -> None:
    await links.make(phrase="otter")
    more: dict[str, Any] = {"json": {"title": "mine"}} if method == "PATCH" else {}
    await links.change("otter", title="theirs")
    for stale in ('"1"', '"7", "8"', 'W/"2"', "2", ""):
        answer = await links.ask(method, "/v1/links/otter", headers={"If-Match": stale}, **more)
        assert_problem(answer, 412, "version-passed")
    assert (await links.get("/v1/links/otter")).json()["title"] == "theirs"
    answer = await links.ask(method, "/v1/links/otter", headers={"If-Match": '"1", "2"'}, **more)
    assert answer.status_code in {200, 204}


async def test_any_version_will_do_for_a_star(links: Service) -> None:
    await links.make(phrase="otter")
    assert (await links.change("otter", headers={"If-Match": "*"}, title="x")).status_code == 200


async def test_of_those_who_change_one_version_at_once_one_succeeds(links: Service) -> None:
    await links.make(phrase="otter")
    changes = (links.change("otter", headers={"If-Match": '"1"'}, title=f"{number}") for number in range(6))
    answers = await asyncio.gather(*changes)
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 5


async def test_those_who_change_different_things_at_once_all_succeed(links: Service) -> None:
    await links.make(phrase="otter")
    await asyncio.gather(
        links.change("otter", title="x"), links.change("otter", tags=["y"]), links.change("otter", max_visits=3)
    )
    link = (await links.get("/v1/links/otter")).json()
    assert (link["title"], link["tags"], link["max_visits"], link["version"]) == ("x", ["y"], 3, 4)


async def test_history_says_who_changed_what_and_when(links: Service) -> None:
    key = await links.key()
    await links.make(key=key, phrase="otter", password="hunter2")
    await links.change("otter", key=key, title="x", password=None)
    await links.change("otter", disabled=True)
    answer = await links.get("/v1/links/otter/history", key=key)
    assert "hunter2" not in answer.text
    assert "argon2" not in answer.text
    made, edited, disabled = answer.json()["edits"]
    owner = key.split("_")[1]
    assert [each["by"] for each in (made, edited, disabled)] == [f"key:{owner}", f"key:{owner}", "local"]
    assert [each["version"] for each in (made, edited, disabled)] == [1, 2, 3]
    assert (made["before"], made["after"]["protected"]) == (None, True)
    assert (edited["before"]["protected"], edited["after"]["protected"], edited["after"]["title"]) == (True, False, "x")
    assert (disabled["before"], disabled["after"]["disabled"]) == (edited["after"], True)
