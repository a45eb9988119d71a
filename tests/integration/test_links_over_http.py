"""Links over HTTP on both stores: the same questions, the same answers."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.asking import assert_problem
from support.job_store_postgres import clean_database
from support.link_service import TARGET, Service, lines_of, link_service
from waypost.kernel.clock import utc_now

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
async def links(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    async with AsyncExitStack() as stack:
        flags = {}
        if request.param == "postgres":
            flags["store"] = await stack.enter_async_context(clean_database())
        yield await stack.enter_async_context(link_service(tmp_path, flags))


async def test_a_links_whole_life(links: Service) -> None:
    key = await links.key()
    wish: dict[str, Any] = {"title": "100% wool", "tags": ["a'b", "two"], "expires_at": "2040-01-01T00:00:00Z"}
    made = await links.make(key=key, phrase="Łódź 2026", password="hunter2", max_visits=3, **wish)
    assert {name: made[name] for name in wish} == wish
    phrase = "lodz2026"
    changed = await links.change(phrase, key=key, title=None, password=None, headers={"If-Match": '"1"'})
    assert (changed.json()["title"], changed.json()["protected"], changed.json()["version"]) == ("", False, 2)
    assert_problem(await links.change(phrase, key=key, title="x", headers={"If-Match": '"1"'}), 412, "version-passed")
    now = utc_now()
    await links.visit(made["id"], *(now - timedelta(minutes=minutes) for minutes in range(3)), visitor="a")
    stats = (await links.get(f"/v1/links/{phrase}/stats?zone=Europe/Berlin&step=hour", key=key)).json()
    assert (stats["visits"], stats["visitors"] >= 1) == (3, True)
    assert len(lines_of(await links.get(f"/v1/links/{phrase}/visits", key=key))) == 3
    first = (await links.get(f"/v1/links/{phrase}/history?limit=1", key=key)).json()
    assert (len(first["edits"]), first["next"]) == (1, 1)
    rest = (await links.get(f"/v1/links/{phrase}/history?after={first['next']}", key=key)).json()
    assert ([edit["version"] for edit in rest["edits"]], rest["next"]) == ([2], None)
    assert (await links.ask("DELETE", f"/v1/links/{phrase}", key=key)).status_code == 204
    assert_problem(await links.get(f"/v1/links/{phrase}", key=key), 404, "unknown-link")


@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "k"}])
async def test_all_or_nothing_tells_all_that_is_wrong(links: Service, key: dict[str, str]) -> None:
    await links.make(phrase="otter")
    wrong = [b"nonsense", {"target": TARGET, "phrase": "otter"}, {"target": "ftp://example.org"}]
    twice = [{"target": TARGET, "phrase": "new-here"}, {"target": TARGET, "phrase": "New Here"}]
    refused = await links.send_lines({"target": TARGET}, *wrong, *twice, query="?atomic=true", headers=key)
    assert [line["line"] for line in assert_problem(refused, 409, "bulk-refused")["lines"]] == [2, 3, 4, 6]
    assert [link["phrase"] for link in (await links.get("/v1/links")).json()["links"]] == ["otter"]


async def test_many_links_and_their_pages(links: Service) -> None:
    wishes = [{"target": f"{TARGET}{number}", "title": f"n{number % 2}", "tags": ["t"]} for number in range(1200)]
    once = {"Idempotency-Key": "k"}
    made = lines_of(await links.send_lines(*wishes, headers=once))
    again = lines_of(await links.send_lines(*wishes, headers=once))
    assert ([link["id"] for link in again], len({link["phrase"] for link in made})) == (
        [link["id"] for link in made],
        1200,
    )
    refused = await links.send_lines(
        {"target": TARGET, "phrase": made[0]["phrase"]}, {"target": TARGET}, query="?atomic=true"
    )
    assert_problem(refused, 409, "bulk-refused")
    for query, count in (("q=N1", 600), ("tag=T", 1200), ("language=en", 1200), ("q=%25", 0), ("to=2001-01-01", 0)):
        found: list[str] = []
        path: str | None = f"/v1/links?limit=500&{query}"
        while path:
            page = (await links.get(path)).json()
            found += [link["id"] for link in page["links"]]
            path = page["next"]
        assert (len(found), len(set(found))) == (count, count), query


async def test_hostile_texts_are_only_texts(links: Service) -> None:
    for text in ("' or 1=1 --", "\\", "%", "_", "$1", "\N{PILE OF POO}", "a" * 200):
        for name in ("q", "tag", "language", "theme"):
            answer = await links.ask("GET", "/v1/links", params={name: text})
            assert (answer.status_code, answer.json()["links"]) == (200, [])
