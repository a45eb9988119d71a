"""Following links: where they lead, with which headers, and what is no visit."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from support.links import TARGET
from support.redirects import Host, host
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import StoreTrouble
from waypost.web.http.cors import Cors

pytestmark = pytest.mark.anyio


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Host]:
    async with host(tmp_path) as opened:
        yield opened


async def test_a_redirect_leads_to_the_target_and_is_kept_by_nobody(links: Host) -> None:
    await links.add()
    answer = await links.get("/gently-golden-otter")
    assert (answer.status_code, answer.content) == (302, b"")
    assert dict(answer.headers) == {
        "location": TARGET,
        "cache-control": "no-store",
        "referrer-policy": "no-referrer-when-downgrade",
        "x-robots-tag": "noindex",
        "x-content-type-options": "nosniff",
        "content-length": "0",
    }


@pytest.mark.parametrize(
    "typed", ["GentlyGoldenOtter", "GENTLY_golden-otter", "gently%20golden%20otter", "gêntlygoldenotter"]
)
async def test_spellings_of_a_phrase_lead_to_the_same_target(links: Host, typed: str) -> None:
    await links.add()
    assert (await links.get(f"/{typed}")).headers["location"] == TARGET


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_the_status_is_a_setting(tmp_path: Path, status: int) -> None:
    async with host(tmp_path, flags={"redirect.status": str(status)}) as links:
        await links.add()
        assert (await links.get("/gently-golden-otter")).status_code == status


async def test_browsers_may_keep_a_redirect_where_somebody_chose_that(tmp_path: Path) -> None:
    async with host(tmp_path, flags={"redirect.status": "301", "redirect.browser_cache": "1h"}) as links:
        await links.add()
        assert (await links.get("/gently-golden-otter")).headers["cache-control"] == "private, max-age=3600"


@pytest.mark.parametrize("ending", [{"expires_at": utc_now() + timedelta(days=1)}, {"max_visits": 3}])
async def test_what_ends_by_itself_is_never_kept(tmp_path: Path, ending: dict[str, Any]) -> None:
    async with host(tmp_path, flags={"redirect.status": "308", "redirect.browser_cache": "1h"}) as links:
        await links.add(**ending)
        answer = await links.get("/gently-golden-otter")
        assert (answer.status_code, answer.headers["cache-control"]) == (308, "no-store")


# Visits


async def test_a_get_is_a_visit_and_a_head_is_none(links: Host) -> None:
    link = await links.add()
    head = await links.get("/gently-golden-otter", method="HEAD")
    assert (head.status_code, head.headers["location"], links.visits) == (302, TARGET, [])
    await links.get(
        "/gently-golden-otter", headers={"referer": "https://news.example/front?user=7", "accept-language": "de-AT"}
    )
    [visit] = links.visits
    assert (visit.link_id, visit.referrer_host, visit.referrer_path) == (link.id, "news.example", "/front")
    assert (visit.language, "Firefox" in visit.agent, len(visit.visitor)) == ("de", True, 16)


@pytest.mark.parametrize("header", ["dnt", "sec-gpc"])
async def test_whoever_asks_for_privacy_is_counted_and_nothing_else(links: Host, header: str) -> None:
    await links.add()
    await links.get("/gently-golden-otter", headers={header: "1", "referer": "https://news.example/"})
    [visit] = links.visits
    assert (visit.visitor, visit.agent, visit.referrer_host, visit.language) == ("", "", "", "")


@pytest.mark.parametrize(
    "asked",
    [
        {"agent": "facebookexternalhit/1.1"},
        {"agent": "Slackbot-LinkExpanding 1.0"},
        {"headers": {"sec-purpose": "prefetch;prerender"}},
    ],
)
async def test_previews_are_answered_and_are_no_visits(links: Host, asked: dict[str, Any]) -> None:
    await links.add()
    assert (await links.get("/gently-golden-otter", **asked)).headers["location"] == TARGET
    assert links.visits == []


async def test_the_address_of_a_visitor_is_nowhere_in_a_visit(links: Host) -> None:
    await links.add()
    await links.get("/gently-golden-otter", peer="203.0.113.77")
    assert "203.0.113" not in repr(links.visits)


async def test_a_client_cannot_choose_the_address_it_is_counted_under(links: Host) -> None:
    await links.add()
    for forged in ("198.51.100.1", "198.51.100.2"):
        await links.get("/gently-golden-otter", headers={"x-forwarded-for": forged, "forwarded": f"for={forged}"})
    assert len({visit.visitor for visit in links.visits}) == 1


# What leads nowhere


async def test_an_unknown_phrase_has_a_page_and_is_asked_for_once(links: Host) -> None:
    for _ in range(5):
        answer = await links.get("/no-such-otter")
        assert answer.status_code == 404
        assert "No such link" in answer.text
    assert links.links.asked == ["no-such-otter"]


async def test_a_phrase_that_was_unknown_is_known_once_it_is_made(links: Host) -> None:
    await links.get("/gently-golden-otter")
    await links.add()
    assert (await links.get("/gently-golden-otter")).status_code == 302


@pytest.mark.parametrize(
    "typed", ["otter!", "otter%00", "ot%E2%80%8Dter", "otter%D0%B1", "otter" + "-" * 200, "favicon.ico"]
)
async def test_what_can_be_no_phrase_does_not_reach_the_store(links: Host, typed: str) -> None:
    await links.add("otter")
    assert (await links.get(f"/{typed}")).status_code == 404
    assert links.links.asked == []


@pytest.mark.parametrize(
    "ended",
    [{"disabled": True}, {"deleted": True}, {"expires_at": utc_now() - timedelta(seconds=1)}],
    ids=["disabled", "deleted", "expired"],
)
@pytest.mark.parametrize("path", ["", "+", ".svg", ".png"])
async def test_a_link_that_has_ended_leads_nowhere(links: Host, ended: dict[str, Any], path: str) -> None:
    await links.edit(await links.add(), **ended)
    answer = await links.get(f"/gently-golden-otter{path}")
    assert (answer.status_code, answer.headers["content-type"]) == (410, "text/html; charset=utf-8")
    assert "This link has ended" in answer.text
    assert "location" not in answer.headers
    assert TARGET not in answer.text
    assert links.visits == []


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("https://evil.example/", 410),
        ("http://a.EVIL.example.:8080/x", 410),
        ("https://notevil.example/", 302),
        ("/collections/places/items/evil.example", 302),
    ],
)
async def test_a_host_that_is_blocked_later_ends_older_links(tmp_path: Path, target: str, status: int) -> None:
    async with host(tmp_path, flags={"links.blocked_hosts": "evil.example"}) as links:
        await links.add(target=target)
        assert (await links.get("/gently-golden-otter")).status_code == status


async def test_an_ended_link_ends_at_once_in_this_process(links: Host) -> None:
    link = await links.add()
    assert (await links.get("/GentlyGoldenOtter")).status_code == 302
    await links.edit(link, disabled=True)
    assert (await links.get("/GentlyGoldenOtter")).status_code == 410


async def test_an_edited_link_leads_to_its_new_target_at_once(links: Host) -> None:
    link = await links.add()
    await links.get("/gently-golden-otter")
    await links.edit(link, target="https://example.org/new")
    assert (await links.get("/gently-golden-otter")).headers["location"] == "https://example.org/new"


async def test_a_link_is_read_once_and_then_followed_from_memory(links: Host) -> None:
    await links.add()
    for _ in range(5):
        await links.get("/gently-golden-otter")
    assert links.links.asked == ["gently-golden-otter"]
    assert len(links.visits) == 5


async def test_a_store_that_is_away_has_a_page_that_says_so(links: Host) -> None:
    links.links.trouble = StoreTrouble("away")
    for path in ("/gently-golden-otter", "/gently-golden-otter+", "/gently-golden-otter.svg"):
        answer = await links.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "Try again" in answer.text


# Limits


async def test_a_limited_link_is_followed_so_many_times_and_no_more(links: Host) -> None:
    await links.add(max_visits=2)
    statuses = [(await links.get("/gently-golden-otter")).status_code for _ in range(4)]
    assert statuses == [302, 302, 410, 410]
    assert len(links.visits) == 2
    used_up = await links.get("/gently-golden-otter")
    assert "used up" in used_up.text
    assert (await links.get("/gently-golden-otter", method="HEAD")).status_code == 410


@pytest.mark.parametrize(
    ("path", "asked"),
    [("", {"method": "HEAD"}), ("", {"agent": "Twitterbot/1.0"}), ("+", {})],
    ids=["HEAD", "preview fetcher", "preview page"],
)
async def test_a_limited_link_tells_its_target_only_for_a_visit(links: Host, path: str, asked: dict[str, Any]) -> None:
    await links.add(max_visits=1)
    answer = await links.get(f"/gently-golden-otter{path}", **asked)
    assert answer.status_code == 200
    assert "location" not in answer.headers
    assert "example.org" not in answer.text
    assert (await links.get("/gently-golden-otter")).status_code == 302


async def test_a_raised_limit_opens_a_link_again(links: Host) -> None:
    link = await links.add(max_visits=1)
    assert [(await links.get("/gently-golden-otter")).status_code for _ in range(2)] == [302, 410]
    await links.edit(link, max_visits=2)
    assert (await links.get("/gently-golden-otter")).status_code == 302


# Queries


@pytest.mark.parametrize(
    ("target", "query", "location"),
    [
        ("https://example.org/", "a=1&b=2", "https://example.org/?a=1&b=2"),
        ("https://example.org/?x=0#part", "a=1", "https://example.org/?x=0&a=1#part"),
        ("https://example.org/?", "a=1", "https://example.org/?a=1"),
        ("https://example.org/#a?b", "a=1", "https://example.org/?a=1#a?b"),
        ("https://example.org/?token=ours", "token=theirs&%74oken=theirs&a=1", "https://example.org/?token=ours&a=1"),
        ("https://example.org/?token=ours", "token=theirs", "https://example.org/?token=ours"),
        ("https://example.org/?token=ours", "a=1;token=theirs", "https://example.org/?token=ours&a=1%3Btoken=theirs"),
        ("https://example.org/", "q=%0d%0aSet-Cookie:x", "https://example.org/?q=%0d%0aSet-Cookie:x"),
        ("https://example.org/", "q=<script>", "https://example.org/?q=%3Cscript%3E"),
        ("https://example.org/", "&&", "https://example.org/"),
    ],
)
async def test_a_query_is_passed_on_where_the_author_wants_it(
    links: Host, target: str, query: str, location: str
) -> None:
    await links.add("otter", target=target, forward_query=True)
    await links.add("mole", target=target)
    assert (await links.get(f"/otter?{query}")).headers["location"] == location
    assert (await links.get(f"/mole?{query}")).headers["location"] == target
    assert len(links.visits) == 2


async def test_a_query_that_is_passed_on_has_a_bound(links: Host) -> None:
    await links.add(forward_query=True, max_visits=5)
    answer = await links.get("/gently-golden-otter?a=" + "x" * 2047)
    assert answer.status_code == 414
    assert links.visits == []
    assert (await links.get("/gently-golden-otter?a=" + "x" * 2046)).status_code == 302


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("https://example.org/\r\nSet-Cookie: a=b", b"https://example.org/%0D%0ASet-Cookie:%20a=b"),
        ("https://example.org/日本", b"https://example.org/%E6%97%A5%E6%9C%AC"),
    ],
)
async def test_whatever_is_in_the_store_cannot_break_out_of_the_header(
    links: Host, target: str, location: bytes
) -> None:
    await links.add(target=target)
    answer = await links.get("/gently-golden-otter")
    assert answer.headers.raw.count((b"location", location)) == 1
    assert "set-cookie" not in answer.headers


# Around links


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/-/message.css"])
async def test_a_redirect_host_answers_health_and_what_its_pages_need(links: Host, path: str) -> None:
    assert (await links.get(path)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/links", "/v1/links/otter", "/v1/places", "/-/", "/-/status", "/docs", "/openapi.json"]
)
async def test_a_redirect_host_has_no_api(links: Host, path: str) -> None:
    await links.add("otter")
    assert (await links.get(path)).status_code == 404
    assert (await links.get(path, method="POST", json={"target": TARGET})).status_code in {404, 405, 415}


async def test_the_root_of_a_redirect_host_leads_home(tmp_path: Path) -> None:
    async with host(tmp_path, home="https://example.org/about") as links:
        answer = await links.get("/")
        assert (answer.status_code, answer.headers["location"]) == (302, "https://example.org/about")
    async with host(tmp_path) as links:
        assert "Links live here" in (await links.get("/")).text


@pytest.mark.parametrize(("robots", "line"), [("allow", "Disallow: /v1/"), ("deny", "Disallow: /")])
async def test_robots_are_told_what_to_leave_alone(tmp_path: Path, robots: str, line: str) -> None:
    async with host(tmp_path, flags={"redirect.robots": robots}) as links:
        answer = await links.get("/robots.txt")
        assert answer.headers["content-type"].startswith("text/plain")
        assert line in answer.text.splitlines()


async def test_any_host_name_redirects(links: Host) -> None:
    await links.add()
    for name in ("go.example.org", "evil.example:81", "[::1]"):
        answer = await links.get("/gently-golden-otter", headers={"host": name})
        assert answer.headers["location"] == TARGET


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_other_methods_are_refused(links: Host, method: str) -> None:
    await links.add()
    answer = await links.get("/gently-golden-otter", method=method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")


@pytest.mark.parametrize("path", ["/collections-of-art", "/tiles-and-more", "/conformance-test", "/otter"])
def test_no_phrase_is_open_to_other_sites_because_of_how_it_begins(path: str) -> None:
    assert Cors(("*",)).headers(path, {}) == ()
    assert Cors(("*",)).headers("/collections/places", {}) != ()
