"""Erasing over HTTP: who may, and what is left for whom."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, Service, lines_of, link_service
from waypost.kernel.clock import utc_now

pytestmark = pytest.mark.anyio

PATH = "/v1/links/summer-party/erase"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, {"links.anonymous": "on"}) as opened:
        yield opened


async def test_an_owner_erases_what_happened_to_their_link(links: Service) -> None:
    author = await links.key()
    link = await links.make(phrase="summer-party", key=author)
    await links.change("summer-party", key=author, title="Party")
    await links.visit(link["id"], utc_now())
    erased = (await links.ask("POST", PATH, key=author)).json()
    assert (erased["visits"], erased["edits"], erased["events"], erased["overwritten"]) == (1, 2, 2, True)
    # The server's own segment.
    assert erased["spools_held"] == 1
    kinds = [line["kind"] for line in lines_of(await links.get("/v1/links/summer-party/everything", key=author))]
    assert kinds == ["link", "edit", "event", "count"]
    shown = (await links.get("/v1/links/summer-party", key=author)).json()
    assert (shown["visits"], shown["title"], shown["version"]) == (0, "Party", 3)
    assert (await links.get("/summer-party")).status_code == 302


async def test_nobody_erases_anothers_link(links: Service) -> None:
    author, other, reader = await links.key(), await links.key(), await links.key("links:read")
    await links.make(phrase="summer-party", key=author)
    assert_problem(await links.ask("POST", PATH, key=other), 404, "unknown-link")
    assert_problem(await links.ask("POST", PATH, key=reader), 403, "scope-missing")
    assert_problem(await links.ask("POST", PATH, peer=BEYOND), 403, "loopback-only")
    assert_problem(await links.ask("POST", PATH, headers={"Origin": "https://evil.example"}), 403, "loopback-only")


async def test_who_made_a_link_without_a_key_erases_with_the_edit_token(links: Service) -> None:
    made = (await links.create(phrase="summer-party", peer=BEYOND)).json()
    token = {"X-Edit-Token": made["edit_token"]}
    assert (await links.ask("DELETE", "/v1/links/summer-party", peer=BEYOND, headers=token)).status_code == 204
    erased = await links.ask("POST", PATH, peer=BEYOND, headers=token)
    assert (erased.status_code, erased.json()["edits"]) == (200, 2)


async def test_open_reports_are_answered_first(links: Service) -> None:
    author, admin = await links.key(), await links.key("admin")
    await links.make(phrase="summer-party", key=author)
    await links.ask("POST", "/-/report", data={"phrase": "summer-party", "text": "bad"})
    assert_problem(await links.ask("POST", PATH, key=author), 409, "reports-open")
    assert (await links.ask("POST", PATH, key=admin)).status_code == 200
