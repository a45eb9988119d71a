"""Links are listed over HTTP: newest first, page after page, each to those whose they are."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.asking import BASE, assert_problem
from support.link_service import BEYOND, Service, link_service
from support.links import NOON, a_link

pytestmark = pytest.mark.anyio


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


async def fill(links: Service, count: int, **more: Any) -> None:
    for number in range(1, count + 1):
        await links.stores.links.add(a_link(f"party-{number}", number, **more), "test")


def phrases(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [link["phrase"] for link in answer.json()["links"]]


async def test_all_pages_together_have_every_link_once_newest_first(links: Service) -> None:
    await fill(links, 7)
    found: list[str] = []
    path: str | None = "/v1/links?limit=3"
    while path:
        answer = await links.get(path)
        found += phrases(answer)
        path = answer.json()["next"]
        if path:
            assert path.startswith(f"{BASE}/v1/links?limit=3&cursor=")
            assert answer.headers["link"] == f'<{path}>; rel="next"'
        else:
            assert "link" not in answer.headers
    assert found == [f"party-{number}" for number in range(7, 0, -1)]


async def test_links_from_before_1970_have_their_page_as_well(links: Service) -> None:
    for number in (1, 2, 3):
        await links.stores.links.add(
            a_link(f"old-{number}", number, created_at=datetime(1960 + number, 1, 1, tzinfo=UTC)), ""
        )
    first = await links.get("/v1/links?limit=1")
    second = await links.get(first.json()["next"])
    assert phrases(first) + phrases(second) + phrases(await links.get(second.json()["next"])) == [
        "old-3",
        "old-2",
        "old-1",
    ]


async def test_a_link_that_is_made_meanwhile_moves_no_page(links: Service) -> None:
    await fill(links, 4)
    first = await links.get("/v1/links?limit=2")
    await links.stores.links.add(a_link("badger", 9), "test")
    assert phrases(await links.get(first.json()["next"])) == ["party-2", "party-1"]


async def test_each_filter_finds_its_links_and_stays_on_the_next_page(links: Service) -> None:
    await fill(links, 3)
    special = {"tags": ("rivers & lakes",), "language": "de", "theme": "animals", "title": "Otters of 100% wool"}
    await links.stores.links.add(a_link("otter-one", 20, **special), "test")
    await links.stores.links.add(a_link("otter-two", 21, **special), "test")
    at = (NOON + timedelta(minutes=20)).isoformat().replace("+00:00", "Z")
    for query in ("q=OTTER", "q=100%25", "tag=Rivers+%26+lakes", "language=de", "theme=animals", f"from={at}"):
        first = await links.get(f"/v1/links?{query}&limit=1")
        assert phrases(first) == ["otter-two"], query
        assert phrases(await links.get(first.json()["next"])) == ["otter-one"], query
    assert phrases(await links.get(f"/v1/links?to={at}")) == ["party-3", "party-2", "party-1"]
    assert phrases(await links.get("/v1/links?language=de&q=nothing")) == []


async def test_deleted_links_are_not_listed(links: Service) -> None:
    await links.make(phrase="otter")
    await links.ask("DELETE", "/v1/links/otter")
    assert phrases(await links.get("/v1/links")) == []


async def test_visits_are_listed_with_each_link(links: Service) -> None:
    await fill(links, 2)
    await links.visit("link-00001", NOON, NOON)
    listed = (await links.get("/v1/links")).json()["links"]
    assert [link["visits"] for link in listed] == [0, 2]


async def test_a_key_lists_its_own_links_and_an_admin_all(links: Service) -> None:
    ada, bob, admin = await links.key(), await links.key(), await links.key("admin")
    await links.make(key=ada, phrase="otter")
    await links.make(key=bob, phrase="badger")
    assert phrases(await links.get("/v1/links", key=ada)) == ["otter"]
    assert phrases(await links.get("/v1/links", key=bob)) == ["badger"]
    assert phrases(await links.get("/v1/links", key=admin)) == ["badger", "otter"]
    assert phrases(await links.get("/v1/links")) == ["badger", "otter"]


async def test_nobody_lists_links_without_a_key_elsewhere(tmp_path: Path) -> None:
    async with link_service(tmp_path, {"links.anonymous": "on"}) as links:
        made = (await links.create(peer=BEYOND)).json()
        answer = await links.get("/v1/links", peer=BEYOND, headers={"X-Edit-Token": made["edit_token"]})
        assert_problem(answer, 403, "loopback-only")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=", "cursor"),
        ("cursor=1", "cursor"),
        ("cursor=999999999999999999.x", "cursor"),
        ("cursor=-99999999999999999.x", "cursor"),
        ("cursor=1.%27or%201", "cursor"),
        ("q=", "q"),
        ("q=%00", "q"),
        ("q=" + "x" * 201, "q"),
        ("q=%FF", "q"),
        ("tag=", "tag"),
        ("from=yesterday", "from"),
        ("from=0001-01-01", "from"),
        ("from=2026-02-22&to=2026-02-21", "from"),
        ("owner=somebody", "owner"),
        ("order=title", "order"),
    ],
)
async def test_what_cannot_be_understood_is_refused_by_its_name(links: Service, query: str, parameter: str) -> None:
    document = assert_problem(await links.get(f"/v1/links?{query}"), 400, "bad-parameter")
    assert document["parameter"] == parameter


async def test_head_answers_like_get(links: Service) -> None:
    answer = await links.ask("HEAD", "/v1/links")
    assert (answer.status_code, answer.content, int(answer.headers["content-length"]) > 0) == (200, b"", True)
