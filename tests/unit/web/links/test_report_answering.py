"""Reports of abuse, from the form that a stranger fills in to the administrator's answer."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.asking import assert_problem
from support.link_service import BEYOND, Service, link_service

pytestmark = pytest.mark.anyio

HOSTILE = "\x1b[2J\x1b]0;gone\x07 <script>alert(1)</script> \u202eevil\n\r\t and more"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        yield opened


async def report(service: Service, phrase: str, text: str, peer: str = BEYOND) -> httpx.Response:
    return await service.ask("POST", "/-/report", data={"phrase": phrase, "text": text}, peer=peer)


async def listed(service: Service, query: str = "") -> list[dict[str, Any]]:
    answer = await service.get(f"/v1/reports{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["reports"]
    return found


async def test_a_report_is_kept_and_says_which_link_it_is_about(service: Service) -> None:
    link = await service.make(phrase="summer-party")
    assert (await report(service, "summer-party", "it asks for my bank's password")).status_code == 200
    [found] = await listed(service)
    assert (found["phrase"], found["link_id"], found["target"]) == ("summer-party", link["id"], link["target"])
    assert (found["text"], found["closed_at"]) == ("it asks for my bank's password", None)
    assert (await service.get(f"/v1/reports/{found['id']}")).json() == found
    assert BEYOND not in str(found)


async def test_what_a_stranger_writes_cannot_move_a_cursor_or_turn_text_around(service: Service) -> None:
    await service.make(phrase="summer-party")
    await report(service, "summer-party", HOSTILE + "x" * 5000)
    [found] = await listed(service)
    assert found["text"].isprintable()
    assert len(found["text"]) <= 1000
    assert "<script>alert(1)</script>" in found["text"]


async def test_an_administrator_closes_a_report_or_disables_the_link(service: Service) -> None:
    await service.make(phrase="summer-party")
    for number in range(3):
        await report(service, "summer-party", f"bad {number}")
    admin = await service.key("admin")
    first, second, _ = await listed(service)
    closed = await service.ask("POST", f"/v1/reports/{first['id']}/close", key=admin, json={})
    assert (closed.status_code, closed.json()["outcome"]) == (200, "dismissed")
    assert (await service.get("/summer-party")).status_code == 302
    done = await service.ask("POST", f"/v1/reports/{second['id']}/close", key=admin, json={"disable": True})
    assert (done.json()["outcome"], done.json()["disabled"]) == ("disabled", True)
    assert (await service.get("/summer-party")).status_code == 410
    assert await listed(service) == []
    assert [each["outcome"] for each in await listed(service, "?status=closed")] == ["dismissed", *["disabled"] * 2]
    assert len(await listed(service, "?status=all&limit=2")) == 2


async def test_pages_of_reports_fit_together(service: Service) -> None:
    await service.make(phrase="summer-party")
    for number in range(3):
        await report(service, "summer-party", f"bad {number}")
    first = (await service.get("/v1/reports?limit=2")).json()
    second = (await service.get(f"/v1/reports?limit=2&after={first['next']}")).json()
    assert [each["text"] for each in (*first["reports"], *second["reports"])] == ["bad 0", "bad 1", "bad 2"]
    assert second["next"] is None


async def test_reports_are_for_administrators_alone(service: Service) -> None:
    author = await service.key()
    await service.make(phrase="summer-party", key=author)
    await report(service, "summer-party", "bad")
    [found] = await listed(service)
    one = f"/v1/reports/{found['id']}"
    for method, path in (("GET", "/v1/reports"), ("GET", one), ("POST", f"{one}/close")):
        assert_problem(await service.ask(method, path, key=author, json={}), 403, "scope-missing")
        assert_problem(await service.ask(method, path, peer=BEYOND, json={}), 403, "loopback-only")


async def test_a_report_that_is_not_there_cannot_be_closed(service: Service) -> None:
    path = "/v1/reports/0191d4a5-0000-7000-8000-000000000000/close"
    assert_problem(await service.ask("POST", path, json={"disable": True}), 404, "unknown-report")
    assert_problem(await service.ask("POST", path, json={"burn": True}), 400, "bad-parameter")
    assert_problem(await service.get("/v1/reports/%00"), 400, "bad-parameter")
    assert_problem(await service.get("/v1/reports?after=%00"), 400, "bad-parameter")


async def test_one_address_cannot_use_up_what_everybody_may_report(service: Service) -> None:
    await service.make(phrase="summer-party")
    statuses = [(await report(service, "summer-party", f"bad {n}")).status_code for n in range(6)]
    assert statuses == [200] * 5 + [429]
    same_network = [(await report(service, "summer-party", "x", f"2001:db8::{n}")).status_code for n in range(6)]
    assert same_network == [200] * 5 + [429]
    assert (await report(service, "summer-party", "me too", "198.51.100.7")).status_code == 200
