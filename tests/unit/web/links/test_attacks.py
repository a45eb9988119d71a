"""Attacks that shorteners suffered, and those every API should expect: one test for each, after OWASP's lists."""

import ast
import asyncio
import inspect
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from support.asking import assert_problem
from support.link_service import BEYOND, NDJSON, TARGET, Service, lines_of, link_service
from support.links import a_link
from waypost.access import keys as access_keys
from waypost.kernel.clock import utc_now
from waypost.sharing.links import rights

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(1)>"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path, {"links.anonymous": "on"}, places=3) as opened:
        yield opened


async def refused_everywhere(links: Service, target: str) -> None:
    """Made, made among many, and by an edit."""
    document = assert_problem(await links.create(target), 400, "target-refused")
    assert document["parameter"] == "target"
    [line] = lines_of(await links.send_lines({"target": target}))
    assert line["error"]["slug"] == "target-refused"
    made = await links.make()
    assert_problem(await links.change(made["phrase"], target=target), 400, "target-refused")
    assert (await links.get(f"/{made['phrase']}")).headers["location"] == TARGET


# Targets


@pytest.mark.parametrize(
    "target",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "javascript://example.org/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data:text/html;base64,PHNjcmlwdD4=",
        "vbscript:msgbox(1)",
        "blob:https://example.org/1",
        "file:///etc/passwd",
        "ftp://example.org/",
        "intent://example.org#Intent;end",
        "\tjavascript:alert(1)",
        "java\nscript:alert(1)",
        "//example.org/",
        "https:example.org",
    ],
)
async def test_no_target_runs_in_a_visitors_browser(links: Service, target: str) -> None:
    await refused_everywhere(links, target)


@pytest.mark.parametrize(
    "target",
    [
        "https://ada:hunter2@example.org/",
        "https://ada@example.org/",
        "https://example.org@evil.example/",
        "https://@example.org/",
        "https://example.org\\@evil.example/",
        "https://example.org%40evil.example@other.example/",
    ],
)
async def test_no_target_carries_credentials_or_pretends_to_be_another_host(links: Service, target: str) -> None:
    await refused_everywhere(links, target)
    assert "hunter2" not in (await links.create(target)).text


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "0",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "3232235777",
        "0xc0.0xa8.0x01.0x01",
        "[::1]",
        "[::]",
        "[::ffff:10.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[fd00::1]",
        "[fe80::1]",
        "[64:ff9b::10.0.0.1]",
        "[2002:0a00:0001::]",
        "localhost",
        "LOCALHOST.",
        "router.local",
        "db.internal",
        "intranet",
        "\N{FULLWIDTH DIGIT ONE}27.0.0.1",
        "\N{CIRCLED DIGIT ONE}27.0.0.1",
    ],
)
async def test_private_addresses_are_refused_in_all_spellings(links: Service, host: str) -> None:
    await refused_everywhere(links, f"http://{host}/admin")


@pytest.mark.parametrize(
    "target",
    [
        "https://go.example.org/otter",
        "https://GO.EXAMPLE.ORG./otter",
        "http://go.example.org:8080/otter",
        "https://go.example.org/",
        "https://short.example/otter",
        "https://\N{FULLWIDTH LATIN SMALL LETTER G}o.example.org/otter",
        "https://go\N{IDEOGRAPHIC FULL STOP}example.org/otter",
    ],
)
async def test_no_link_leads_to_ourselves_neither_when_made_nor_after_an_edit(tmp_path: Path, target: str) -> None:
    flags = {"public_url": "https://go.example.org", "links.hosts": "short.example"}
    async with link_service(tmp_path, flags) as links:
        await refused_everywhere(links, target)


async def test_a_name_that_nobody_configured_is_ours_too_when_we_are_asked_by_it(tmp_path: Path) -> None:
    async with link_service(tmp_path, listening="0.0.0.0") as links:
        key = await links.key()
        by_name = {"Host": "unforeseen.example:8443"}
        for target in ("https://unforeseen.example/otter", "https://Unforeseen.Example.:1/otter"):
            assert_problem(await links.create(target, key=key, headers=by_name), 400, "target-refused")
            [line] = lines_of(await links.send_lines({"target": target}, key=key, headers=by_name))
            assert line["error"]["slug"] == "target-refused"
            made = await links.make(key=key)
            answer = await links.change(made["phrase"], key=key, headers=by_name, target=target)
            assert_problem(answer, 400, "target-refused")


@pytest.mark.parametrize("sign", ["\r\n", "\n", "\r", "\0", "\x85", "\u2028", "%0d%0a"])
async def test_no_target_adds_a_header_to_the_redirect(links: Service, sign: str) -> None:
    answer = await links.create(f"https://example.org/{sign}Set-Cookie:a=b", phrase="otter")
    if sign.startswith("%"):
        followed = await links.get("/otter")
        assert "set-cookie" not in followed.headers
        assert followed.headers["location"].endswith("%0d%0aSet-Cookie:a=b")
    else:
        assert_problem(answer, 400, "target-refused")


async def test_a_target_is_never_fetched_by_us(links: Service) -> None:
    """A title that is fetched reaches private networks; so none is."""
    made = await links.make("http://example.org:9/nobody-answers-here")
    assert made["title"] == ""


# Pages


async def test_a_title_cannot_bring_a_script_into_a_page(links: Service) -> None:
    for number, title in enumerate((SCRIPT, QUOTED, "</dd></dl><h1>paid")):
        await links.make(phrase=f"otter-{'abc'[number]}", title=title, tags=[title[:40].replace(",", "").lower()])
        page = await links.get(f"/otter-{'abc'[number]}+")
        assert page.status_code == 200
        assert title not in page.text
        assert "<script" not in page.text.lower()
        assert "<img" not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]


async def test_a_target_cannot_bring_a_script_into_a_page(links: Service) -> None:
    await links.make(f"https://example.org/?q={QUOTED.replace(' ', '%20')}", phrase="otter")
    page = await links.get("/otter+")
    assert "<img" not in page.text


async def test_what_is_told_as_json_is_never_read_as_a_page(links: Service) -> None:
    made = await links.make(phrase="otter", title=SCRIPT, tags=[SCRIPT.lower()])
    await links.visit(made["id"], utc_now(), referrer_host="x.example", referrer_path=f"/{SCRIPT}", agent=SCRIPT)
    for path in ("", "/stats", "/visits", "/history"):
        answer = await links.get(f"/v1/links/otter{path}")
        assert answer.headers["content-type"] in {"application/json", "application/x-ndjson"}
        assert answer.headers["x-content-type-options"] == "nosniff"
    listed = await links.get("/v1/links?q=otter")
    assert listed.headers["content-type"] == "application/json"


async def test_a_phrase_that_is_asked_for_is_not_echoed_into_a_page(links: Service) -> None:
    for path in ("/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/%3Cscript%3E+", "/v1/links/%3Cscript%3E"):
        answer = await links.get(path)
        assert answer.status_code == 404
        assert "<script" not in answer.text or answer.headers["content-type"] == "application/problem+json"


# Injection


@pytest.mark.parametrize(
    "text",
    [
        "' or '1'='1",
        "'; drop table links; --",
        "%",
        "_",
        "\\",
        "%%%%%%%%",
        "\\' union select 1 --",
        '"',
        "?1",
        "$1",
        ":text",
    ],
)
async def test_a_search_text_is_only_a_text(links: Service, text: str) -> None:
    await links.make(phrase="otter")
    for name in ("q", "tag", "language", "theme"):
        answer = await links.ask("GET", "/v1/links", params={name: text})
        assert (answer.status_code, answer.json()["links"]) == (200, []), (name, answer.text)
    assert (await links.get("/v1/links/otter")).status_code == 200


@pytest.mark.parametrize("text", ["(a+)+$" * 33, "a" * 200, "%" * 200, "_" * 200, ("a%" * 100), "((((((" * 33])
async def test_a_search_text_cannot_keep_the_server_busy(links: Service, text: str) -> None:
    await links.stores.links.add_many(
        [a_link(f"p{number}", number, title="a" * 199 + "!") for number in range(500)], "test", atomic=True
    )
    # A matcher that goes back and forth would take hours, and the test would be ended.
    assert (await links.ask("GET", "/v1/links", params={"q": text})).status_code == 200


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800"])
async def test_half_characters_and_nul_reach_no_store(links: Service, text: str) -> None:
    for field in ("title", "phrase", "password", "place_id"):
        body = json.dumps({"target": TARGET, field: text}).encode()
        answer = await links.ask("POST", "/v1/links", headers={"Content-Type": "application/json"}, content=body)
        assert answer.status_code == (201 if (field, text) in NUL_IN_PASSWORD else 400), (field, answer.text)
    body = json.dumps({"target": TARGET, "tags": [text]}).encode()
    answer = await links.ask("POST", "/v1/links", headers={"Content-Type": "application/json"}, content=body)
    assert answer.status_code == 400


# A password is hashed, whatever is in it.
NUL_IN_PASSWORD = {("password", "a\0b"), ("password", "\0")}


# Who asks


async def test_a_forged_forwarding_header_makes_nobody_local(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP", "True-Client-IP"):
            answer = await links.create(peer=BEYOND, headers={name: "127.0.0.1"})
            assert_problem(answer, 403, "loopback-only")
            # Nor does a proxy on this machine make its clients local.
            assert_problem(await links.create(headers={name: "127.0.0.1"}), 403, "loopback-only")


async def test_a_forged_forwarding_header_is_not_who_a_wish_came_from(links: Service) -> None:
    """Else somebody could repeat another's request, and get their edit token."""
    once = {"Idempotency-Key": "k"}
    theirs = (await links.create(peer=BEYOND, headers=once)).json()
    forged = await links.create(peer="198.51.100.7", headers=once | {"X-Forwarded-For": BEYOND})
    assert forged.json()["edit_token"] != theirs["edit_token"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000"])
async def test_another_web_page_cannot_use_a_browser_on_this_machine(tmp_path: Path, origin: str) -> None:
    async with link_service(tmp_path, places=3) as links:
        await links.make(phrase="otter")
        for more in ({"Origin": origin}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            assert_problem(await links.create(headers=more), 403, "loopback-only")
            assert_problem(await links.get("/v1/links", headers=more), 403, "loopback-only")
            assert_problem(await links.change("otter", headers=more, title="x"), 403, "loopback-only")
            assert_problem(await links.ask("DELETE", "/v1/links/otter", headers=more), 403, "loopback-only")
            assert_problem(await links.send_lines({}, headers=more), 403, "loopback-only")
            assert_problem(await links.ask("POST", "/v1/places/sim:1/link", headers=more), 403, "loopback-only")


async def test_a_name_that_was_rebound_to_this_machine_is_not_this_machine(tmp_path: Path) -> None:
    async with link_service(tmp_path) as links:
        answer = await links.create(headers={"Host": "evil.example:8080"})
        assert_problem(answer, 403, "loopback-only")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_what_a_form_can_send_is_not_taken(links: Service, content_type: str) -> None:
    await links.make(phrase="otter")
    headers = {"Content-Type": content_type}
    body = json.dumps({"target": TARGET}).encode()
    for method, path in (("POST", "/v1/links"), ("POST", "/v1/links/bulk"), ("PATCH", "/v1/links/otter")):
        answer = await links.ask(method, path, headers=headers, content=body)
        assert_problem(answer, 415, "unsupported-content-type")


async def test_web_pages_of_other_sites_may_read_places_and_never_links(links: Service) -> None:
    asked = {"Origin": "https://evil.example"}
    assert (await links.get("/v1/places", headers=asked)).headers["access-control-allow-origin"] == "*"
    preflight = asked | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for method, path in (
        ("GET", "/v1/links"),
        ("POST", "/v1/links"),
        ("POST", "/v1/links/bulk"),
        ("PATCH", "/v1/links/otter"),
        ("POST", "/v1/places/sim:1/link"),
        ("GET", "/otter"),
    ):
        answer = await links.ask(method, path, headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")], path
        answer = await links.ask("OPTIONS", path, headers=preflight)
        assert not [name for name in answer.headers if name.startswith("access-control")], path


# Keys and tokens


async def test_a_key_in_an_address_is_refused_and_written_down_nowhere(links: Service) -> None:
    key = await links.key()
    with capture_logs() as logged:
        for path in (f"/v1/links?key={key}", f"/v1/links?q={key.replace('_', '%5F')}", f"/v1/links/{key}"):
            answer = await links.get(path, peer=BEYOND)
            assert_problem(answer, 400, "key-in-address")
            assert key not in answer.text
        await links.get("/v1/links", key=key[:-1])
    assert key[:-1] not in str(logged)


async def test_a_password_in_an_address_opens_nothing(links: Service) -> None:
    await links.make(phrase="otter", password="hunter2")
    answer = await links.get("/otter?password=hunter2")
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert TARGET not in answer.text
    assert "hunter2" not in answer.text


async def test_a_password_is_never_told(links: Service) -> None:
    made = await links.create(phrase="otter", password="hunter2-of-mine")
    changed = await links.change("otter", password="hunter3-of-mine")
    history, listed = await links.get("/v1/links/otter/history"), await links.get("/v1/links")
    for answer in (made, changed, history, listed):
        assert "of-mine" not in answer.text
        assert "argon2" not in answer.text


STRANGERS = [
    ("GET", "", {}),
    ("GET", "/stats", {}),
    ("GET", "/visits", {}),
    ("GET", "/history", {}),
    ("PATCH", "", {"json": {"title": "mine now"}}),
    ("DELETE", "", {}),
]


@pytest.mark.parametrize(("method", "path", "more"), STRANGERS, ids=lambda each: str(each)[:20])
async def test_another_keys_link_is_as_unknown_as_one_that_is_not_there(
    links: Service, method: str, path: str, more: dict[str, Any]
) -> None:
    ada, bob = await links.key(), await links.key()
    await links.make(key=ada, phrase="gently-golden-otter")
    foreign = await links.ask(method, f"/v1/links/gently-golden-otter{path}", key=bob, **more)
    unknown = await links.ask(method, f"/v1/links/gently-golden-eagle{path}", key=bob, **more)
    assert_problem(foreign, 404, "unknown-link")
    assert foreign.text.replace("otter", "eagle") == unknown.text
    assert {*foreign.headers} == {*unknown.headers}
    assert (await links.get("/v1/links/gently-golden-otter", key=ada)).json()["title"] == ""


@pytest.mark.parametrize(("method", "path", "more"), STRANGERS, ids=lambda each: str(each)[:20])
async def test_an_edit_token_opens_no_other_link(links: Service, method: str, path: str, more: dict[str, Any]) -> None:
    await links.create(peer=BEYOND, phrase="otter")
    await links.make(phrase="badger")
    await links.make(key=await links.key(), phrase="heron")
    mine = (await links.create(peer=BEYOND, phrase="magpie")).json()
    for token in (mine["edit_token"], "", "x", "é", mine["edit_token"] + "x"):
        for phrase in ("otter", "badger", "heron", "nothing-there"):
            headers: Any = {"X-Edit-Token": token.encode()}
            answer = await links.ask(method, f"/v1/links/{phrase}{path}", peer=BEYOND, headers=headers, **more)
            assert_problem(answer, 404, "unknown-link")


async def test_an_edit_token_of_a_links_id_does_not_open_an_owned_link(links: Service) -> None:
    key = await links.key()
    made = await links.make(key=key, phrase="otter")
    link = await links.stores.links.get(made["id"])
    assert link
    token = links.parts.edit_tokens.of(link)
    answer = await links.get("/v1/links/otter", peer=BEYOND, headers={"X-Edit-Token": token})
    assert_problem(answer, 404, "unknown-link")


@pytest.mark.parametrize("module", [access_keys, rights])
def test_secrets_are_compared_in_a_time_that_tells_nothing(module: Any) -> None:
    source = inspect.getsource(module)
    assert "hmac.compare_digest" in source
    compared = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare)]
    names = {
        name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        for node in compared
        if any(isinstance(sign, ast.Eq | ast.NotEq) for sign in node.ops)
        for name in ast.walk(node)
    }
    assert not names & {"digest", "secret", "token", "_secret", "edit_token"}


# Mass assignment


@pytest.mark.parametrize(
    "field", ["owner", "visits", "version", "id", "created_at", "updated_at", "deleted", "asked", "edit_token", "url"]
)
async def test_nobody_assigns_what_is_not_theirs_to_say(links: Service, field: str) -> None:
    await links.make(phrase="otter")
    for value in ("x", 7, None, True):
        wish: dict[str, Any] = {field: value}
        assert assert_problem(await links.create(**wish), 400, "bad-parameter")["parameter"] == field
        assert assert_problem(await links.change("otter", **wish), 400, "bad-parameter")["parameter"] == field
        [line] = lines_of(await links.send_lines({"target": TARGET} | wish))
        assert line["error"]["parameter"] == field


# Too much


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b'{"target":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"target": "https://example.org/", "tags": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        b'{"max_visits": ' + b"9" * 60_000 + b"}",
        b'{"max_visits": 1e400, "target": "https://example.org/"}',
    ],
    ids=["lists", "objects", "closed", "inside", "digits", "exponent"],
)
async def test_deep_and_endless_json_is_refused(links: Service, body: bytes) -> None:
    await links.make(phrase="otter")
    for method, path in (("POST", "/v1/links"), ("PATCH", "/v1/links/otter")):
        answer = await links.ask(method, path, headers={"Content-Type": "application/json"}, content=body)
        assert_problem(answer, 400, "bad-parameter")


async def test_a_huge_body_is_refused(links: Service) -> None:
    body = b'{"target": "' + b"x" * 100_000 + b'"}'
    for method, path in (("POST", "/v1/links"), ("PATCH", "/v1/links/otter"), ("POST", "/v1/places/sim:1/link")):
        answer = await links.ask(method, path, headers={"Content-Type": "application/json"}, content=body)
        assert_problem(answer, 413, "body-too-large")


async def test_a_bomb_of_lines_is_refused_before_it_is_read(links: Service) -> None:
    for body in (b"\n" * 16_000_000, b"{}\n" * 1_000_000, b"0\n" * 8_000_000):
        answer = await links.ask("POST", "/v1/links/bulk", headers=NDJSON, content=body)
        assert_problem(answer, 400, "too-many-lines")


async def test_a_compressed_body_is_not_unpacked(links: Service) -> None:
    headers = NDJSON | {"Content-Encoding": "gzip"}
    [line] = lines_of(await links.ask("POST", "/v1/links/bulk", headers=headers, content=b"\x1f\x8b\x08bomb"))
    assert line["error"]["slug"] == "bad-parameter"


async def test_a_field_that_is_given_twice_is_read_once(links: Service) -> None:
    """Whoever checks a body before us reads perhaps the first; the last is what we check and what we keep."""
    body = b'{"target": "https://example.org/", "target": "javascript:alert(1)"}'
    answer = await links.ask("POST", "/v1/links", headers={"Content-Type": "application/json"}, content=body)
    assert_problem(answer, 400, "target-refused")


async def test_many_wrong_keys_at_once_open_nothing(links: Service) -> None:
    answers = await asyncio.gather(*(links.get("/v1/links", key=f"wp_{n:012x}_{'x' * 43}") for n in range(50)))
    assert {answer.status_code for answer in answers} == {401}


async def test_phishing_can_be_stopped_at_once(links: Service) -> None:
    """By who runs the site, whoever made the link, and though it was just followed."""
    made = await links.make(key=await links.key(), phrase="otter")
    assert (await links.get("/otter")).status_code == 302
    await links.change("otter", disabled=True)
    assert (await links.get("/otter")).status_code == 410
    assert made["owner"]


async def test_visitors_addresses_are_nowhere(links: Service) -> None:
    await links.make(phrase="otter")
    await links.get("/otter", peer="203.0.113.77")
    for path in ("", "/stats", "/visits", "/history"):
        assert "203.0.113" not in (await links.get(f"/v1/links/otter{path}")).text
