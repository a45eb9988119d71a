"""The pages and pictures of links: passwords, previews, QR codes, and reports; whatever their authors wrote in them."""

import asyncio
import re
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from support.asking import BASE
from support.links import TARGET, a_link
from support.redirects import Host, host
from waypost.sharing.reports.report import LONGEST_REPORT
from waypost.sharing.reports.store import WantedReports
from waypost.web.follow import html_pages
from waypost.web.follow.password_checking import PasswordChecker
from waypost.web.follow.report_allowances import Allowance
from waypost.web.http.concurrency_limit import TooManyAtOnce

pytestmark = pytest.mark.anyio

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
OTTER = "/gently-golden-otter"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Host]:
    async with host(tmp_path) as opened:
        yield opened


def assert_page(answer: httpx.Response, status: int) -> str:
    """The text of a page, after looking at what all of them have in common."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    policy = answer.headers["content-security-policy"]
    for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert part in policy
    assert "script-src" not in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-robots-tag"] == "noindex"
    assert "<script" not in answer.text
    assert "onerror=alert(1)>" not in answer.text
    return answer.text


# Passwords


async def test_a_protected_link_asks_for_its_password_and_tells_nothing(links: Host) -> None:
    await links.add(password="sesame", title="Secret plans")
    for method in ("GET", "HEAD"):
        answer = await links.get(OTTER, method=method)
        assert "location" not in answer.headers
        assert "example.org" not in str(answer.headers) + answer.text
    text = assert_page(await links.get(OTTER), 200)
    assert 'method="post"' in text
    assert "Secret plans" not in text
    assert links.visits == []


async def test_the_right_password_leads_to_the_target_and_is_a_visit(links: Host) -> None:
    link = await links.add(password="sesame")
    answer = await links.post(OTTER, {"password": "sesame"})
    assert (answer.status_code, answer.headers["location"]) == (303, TARGET)
    assert answer.headers["cache-control"] == "no-store"
    assert [visit.link_id for visit in links.visits] == [link.id]


@pytest.mark.parametrize("given", [{"password": "Sesame"}, {"password": ""}, {"word": "sesame"}])
async def test_a_wrong_password_shows_the_page_again(links: Host, given: dict[str, str]) -> None:
    await links.add(password="sesame")
    text = assert_page(await links.post(OTTER, given), 403)
    assert "Wrong password" in text
    assert 'method="post"' in text
    assert links.visits == []


async def test_a_password_in_the_address_opens_nothing(links: Host) -> None:
    await links.add(password="sesame", forward_query=True)
    assert "location" not in (await links.get(f"{OTTER}?password=sesame")).headers
    answer = await links.post(f"{OTTER}?password=sesame", {"password": "wrong"})
    assert answer.status_code == 403


async def test_a_password_is_never_logged(links: Host) -> None:
    await links.add(password="sesame")
    with capture_logs() as logged:
        await links.post(OTTER, {"password": "wrong-sesame"})
        await links.post(OTTER, {"password": "sesame"})
    assert "sesame" not in repr(logged)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_another_sites_page_cannot_send_the_form(links: Host, headers: dict[str, str]) -> None:
    await links.add(password="sesame")
    answer = await links.post(OTTER, {"password": "sesame"}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:waypost:cross-site-form")
    assert links.visits == []


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": BASE, "sec-fetch-site": "same-origin"},
        {"origin": "https://127.0.0.1:8080"},
        {"origin": "https://go.example.org"},
    ],
    ids=["our own", "behind a proxy that speaks TLS", "the public address"],
)
async def test_our_own_page_can(tmp_path: Path, headers: dict[str, str]) -> None:
    async with host(tmp_path, public_url="https://go.example.org") as links:
        await links.add(password="sesame")
        assert (await links.post(OTTER, {"password": "sesame"}, headers=headers)).status_code == 303


async def test_only_a_form_is_taken(links: Host) -> None:
    await links.add(password="sesame")
    answer = await links.get(OTTER, method="POST", json={"password": "sesame"})
    assert answer.status_code == 415
    body = "&".join(f"a{number}=1" for number in range(50)) + "&password=sesame"
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert (await links.get(OTTER, method="POST", content=body, headers=form)).status_code == 403


async def test_a_protected_link_with_a_limit_ends_after_it(links: Host) -> None:
    await links.add(password="sesame", max_visits=1)
    assert (await links.post(OTTER, {"password": "wrong"})).status_code == 403
    statuses = [(await links.post(OTTER, {"password": "sesame"})).status_code for _ in range(2)]
    assert statuses == [303, 410]
    assert "used up" in assert_page(await links.get(OTTER), 410)


async def test_the_browser_may_follow_the_forms_answer_to_the_target(links: Host) -> None:
    """Some browsers check where a form's answer leads; the page must not say more than the scheme."""
    await links.add(password="sesame")
    policy = (await links.get(OTTER)).headers["content-security-policy"]
    assert policy.endswith("form-action 'self' http: https:")


async def test_a_link_without_a_password_can_be_posted_to_all_the_same(links: Host) -> None:
    """Its password may have been taken away while the page was open."""
    await links.add()
    assert (await links.post(OTTER, {"password": "sesame"})).status_code == 303


async def test_guesses_for_a_link_come_one_after_the_other_and_few_may_wait() -> None:
    at_once, most_at_once = 0, 0

    def verify(_hashed: str, _password: str) -> bool:
        nonlocal at_once, most_at_once
        at_once += 1
        most_at_once = max(most_at_once, at_once)
        at_once -= 1
        return False

    checker = PasswordChecker(verify, pause=0.01)
    asked = await asyncio.gather(*(checker.fits("link", "x", "y") for _ in range(20)), return_exceptions=True)
    assert most_at_once == 1
    assert [each for each in asked if each is False] == [False] * 5
    assert sum(isinstance(each, TooManyAtOnce) for each in asked) == 15
    assert checker._at_link == {}
    assert await checker.fits("link", "x", "y") is False


async def test_a_flood_of_guesses_is_sent_away(tmp_path: Path) -> None:
    async with host(tmp_path) as links:
        await links.add(password="sesame")
        answers = await asyncio.gather(*(links.post(OTTER, {"password": "wrong"}) for _ in range(30)))
        statuses = {answer.status_code for answer in answers}
        assert statuses == {403, 429}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert_page(refused, 429)
        assert refused.headers["retry-after"] == "5"


# Previews


async def test_a_preview_says_where_a_link_leads_and_is_no_visit(links: Host) -> None:
    await links.add(title="Our summer party")
    text = assert_page(await links.get(f"{OTTER}+"), 200)
    assert TARGET in text
    assert "Our summer party" in text
    assert 'href="/gently-golden-otter"' in text
    assert f'href="{TARGET}' not in text
    assert links.visits == []


@pytest.mark.parametrize("secret", [{"password": "sesame"}, {"max_visits": 2}])
async def test_a_preview_keeps_what_is_not_for_everybody(links: Host, secret: dict[str, Any]) -> None:
    await links.add(title="Secret plans", **secret)
    text = assert_page(await links.get(f"{OTTER}+"), 200)
    assert "example.org" not in text
    assert "Secret plans" not in text


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("https://xn--e1afmkfd.xn--p1ai/x", ["xn--e1afmkfd.xn--p1ai", "пример.рф"]),
        ("https://xn--80ak6aa92e.com/", ["xn--80ak6aa92e.com", "аррӏе.com"]),  # noqa: RUF001 - that is the point
        ("https://xn--.example/", ["xn--.example"]),
        ("https://example.org:8443/", ["<bdi>example.org</bdi>"]),
    ],
)
async def test_a_host_that_looks_like_another_is_shown_both_ways(links: Host, target: str, shown: list[str]) -> None:
    await links.add(target=target)
    text = assert_page(await links.get(f"{OTTER}+"), 200)
    for each in shown:
        assert each in text


async def test_what_an_author_wrote_is_shown_as_text(links: Host) -> None:
    await links.add(title=HOSTILE, target=f"https://example.org/?q={HOSTILE}")
    text = assert_page(await links.get(f"{OTTER}+"), 200)
    assert "&lt;script&gt;" in text


def test_a_phrase_cannot_break_out_of_a_page() -> None:
    link = a_link(HOSTILE, password="x")
    for answer in (
        html_pages.preview(link),
        html_pages.password_form(link),
        html_pages.limited(link),
        html_pages.report_form(HOSTILE),
    ):
        assert b"<script" not in answer.body
        assert b"<img" not in answer.body


async def test_an_unknown_preview_is_not_found(links: Host) -> None:
    assert_page(await links.get("/no-such-otter+"), 404)


# QR codes


async def test_a_qr_code_as_a_drawing(links: Host) -> None:
    await links.add()
    answer = await links.get("/GENTLY-golden-otter.svg")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert answer.content.startswith(b"<?xml")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert links.visits == []


async def test_a_qr_code_as_a_picture_of_the_size_that_was_asked_for(links: Host) -> None:
    await links.add()
    answer = await links.get(f"{OTTER}.png", params={"scale": 2, "border": 0})
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    small = struct.unpack(">II", answer.content[16:24])
    bordered = struct.unpack(">II", (await links.get(f"{OTTER}.png?scale=2&border=4")).content[16:24])
    assert bordered == (small[0] + 16, small[1] + 16)


async def test_a_qr_code_leads_to_the_public_address_in_the_links_own_spelling(tmp_path: Path) -> None:
    async with host(tmp_path, public_url="https://go.example.org") as links:
        await links.add()
        one = await links.get(f"{OTTER}.svg", headers={"host": "elsewhere.example"})
        two = await links.get("/GentlyGoldenOtter.svg")
        assert one.content == two.content


async def test_a_client_that_has_the_qr_code_is_not_sent_it_again(links: Host) -> None:
    await links.add()
    tag = (await links.get(f"{OTTER}.png")).headers["etag"]
    again = await links.get(f"{OTTER}.png", headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert (await links.get(f"{OTTER}.svg", headers={"if-none-match": tag})).status_code == 200


@pytest.mark.parametrize("query", ["scale=0", "scale=21", "scale=-1", "scale=1e9", "border=11", "border=x"])
async def test_a_qr_code_has_a_bounded_size(links: Host, query: str) -> None:
    await links.add()
    answer = await links.get(f"{OTTER}.png?{query}")
    assert (answer.status_code, answer.json()["parameter"]) == (400, query.partition("=")[0])


@pytest.mark.parametrize("look", ["+", ".svg", ".png"])
async def test_a_link_that_is_used_up_is_not_shown_any_more(links: Host, look: str) -> None:
    await links.add(max_visits=1)
    assert (await links.get(OTTER + look)).status_code == 200
    assert (await links.get(OTTER)).status_code == 302
    assert "used up" in assert_page(await links.get(OTTER + look), 410)


async def test_an_unknown_phrase_has_no_qr_code(links: Host) -> None:
    assert_page(await links.get("/no-such-otter.png"), 404)


# Reports


async def test_a_report_reaches_whoever_runs_the_site(links: Host) -> None:
    link = await links.add()
    text = assert_page(await links.get("/-/report", params={"phrase": HOSTILE}), 200)
    assert "&lt;script&gt;" in text
    with capture_logs() as logged:
        answer = await links.post(
            "/-/report", {"phrase": "gently golden otter", "text": "It asks\nfor my\x1b[31m bank"}
        )
    assert "Thank you" in assert_page(answer, 200)
    [line] = logged
    assert (line["event"], line["log_level"], line["link"]) == ("abuse-report", "warning", link.id)
    [report] = await links.stores.reports.page(WantedReports(), "", 10)
    assert (line["phrase"], line["report"]) == (link.phrase, report.id)
    assert (report.link_id, report.target, report.text) == (link.id, TARGET, "It asks for my[31m bank")


async def test_a_whole_address_can_be_reported(links: Host) -> None:
    await links.add()
    answer = await links.post("/-/report", {"phrase": f"{BASE}{OTTER}/", "text": "spam"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"phrase": "gently-golden-otter"}, 400), ({"phrase": "no-such-otter", "text": "x"}, 404), ({"text": "x"}, 404)],
)
async def test_a_report_that_says_nothing_is_refused(links: Host, fields: dict[str, str], status: int) -> None:
    await links.add()
    with capture_logs() as logged:
        assert_page(await links.post("/-/report", fields), status)
    assert logged == []


async def test_reports_are_bounded(links: Host) -> None:
    await links.add()
    with capture_logs() as logged:
        answers = [
            await links.post(
                "/-/report", {"phrase": "gently-golden-otter", "text": "x" * 5000}, peer=f"203.0.113.{number}"
            )
            for number in range(25)
        ]
    assert [answer.status_code for answer in answers[:21]] == [200] * 20 + [429]
    assert int(answers[20].headers["retry-after"]) > 0
    assert len(logged) == 20
    assert {len(each.text) for each in await links.stores.reports.page(WantedReports(), "", 25)} == {LONGEST_REPORT}


async def test_another_sites_page_cannot_send_a_report(links: Host) -> None:
    await links.add()
    answer = await links.post("/-/report", {"phrase": "x", "text": "x"}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403


def test_an_allowance_grows_back() -> None:
    now = 0.0
    allowance = Allowance(2, 10.0, clock=lambda: now)
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    now = 10.0
    assert [allowance.take() for _ in range(2)] == [True, False]
    now = 1000.0
    assert [allowance.take() for _ in range(3)] == [True, True, False]


async def test_pages_load_nothing_that_is_not_ours(links: Host) -> None:
    await links.add(password="sesame")
    for path in (OTTER, f"{OTTER}+", "/no-such-otter", "/-/report"):
        text = (await links.get(path)).text
        for address in re.findall(r'(?:src|href|action)="([^"]*)"', text):
            assert address.startswith("/")
