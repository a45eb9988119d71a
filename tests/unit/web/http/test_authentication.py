"""Who may write without a key: this machine alone, and being on this machine is not enough."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Message
from structlog.testing import capture_logs

from support.asking import ask, assert_problem, get, send_raw
from waypost.kernel.host_header import is_loopback
from waypost.web.http.authentication import JSON as JSON_TYPE
from waypost.web.http.authentication import WriteGuard, check_content_type
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.middleware import Bounds
from waypost.web.http.problems import add_problem_handlers

JSON = {"Content-Type": "application/json"}


def guarded(listening: str = "127.0.0.1") -> ASGIApp:
    app = FastAPI()
    add_problem_handlers(app)

    guard = WriteGuard(LocalTrust.on(listening))

    @app.post("/write")
    async def write(request: Request) -> str:
        (await guard(request)).needs("links:write")
        check_content_type(request, JSON_TYPE)
        return "written"

    return Bounds(app)


def write(
    headers: dict[str, str] | None = None, *, peer: str = "127.0.0.1", listening: str = "127.0.0.1"
) -> httpx.Response:
    return get(guarded(listening), "/write", "POST", peer=peer, headers=JSON | (headers or {}), content=b"{}")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost:8080"},
        {"Host": "LocalHost"},
        {"Host": "127.0.0.1"},
        {"Host": "[::1]:8080"},
        {"Origin": "http://127.0.0.1:8080"},
        {"Host": "localhost:9000", "Origin": "http://localhost:9000"},
        {"Content-Type": "application/json; charset=utf-8"},
        {"Content-Type": "Application/JSON"},
    ],
)
def test_this_machine_may_write(headers: dict[str, str]) -> None:
    answer = write(headers)
    assert (answer.status_code, answer.json()) == (200, "written")


@pytest.mark.parametrize(("peer", "listening"), [("::1", "::1"), ("127.8.8.8", "localhost")])
def test_every_loopback_address_is_this_machine(peer: str, listening: str) -> None:
    assert write(peer=peer, listening=listening).status_code == 200


@pytest.mark.parametrize("listening", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_beyond_loopback_nothing_can_be_written(listening: str) -> None:
    document = assert_problem(write(listening=listening), 403, "loopback-only")
    assert "beyond loopback" in document["detail"]


@pytest.mark.parametrize("peer", ["192.168.1.7", "10.0.0.1", "2001:db8::1", "testclient", ""])
def test_another_machine_may_not_write(peer: str) -> None:
    assert_problem(write(peer=peer), 403, "loopback-only")


@pytest.mark.parametrize(
    "header",
    ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via", "x-forwarded-for"],
)
def test_what_came_through_a_proxy_is_not_from_this_machine(header: str) -> None:
    document = assert_problem(write({header: "127.0.0.1"}), 403, "loopback-only")
    assert "proxy" in document["detail"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.7:8080",
        "0.0.0.0:8080",
        "[2001:db8::1]:8080",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(host: str) -> None:
    document = assert_problem(write({"Host": host}), 403, "loopback-only")
    assert "Host" in document["detail"]


@pytest.mark.parametrize(
    ("host", "status"),
    [(b"", 403), (b"[", 400), (b"[::1", 400), (b"[x]:1", 400), (b"\xff\xfe", 400), (b"127.0.0.1@evil.example", 400)],
)
def test_a_host_that_makes_no_sense_is_refused_and_is_no_defect(host: bytes, status: int) -> None:
    headers = [(b"host", host), (b"content-type", b"application/json")]
    sent: list[Message] = []
    with capture_logs():
        asyncio.run(send_raw(guarded(), "POST", "/write", headers=headers, sent=sent))
    assert sent[0]["status"] == status


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1:8080",
        "http://127.0.0.1:9999",
        "http://127.0.0.1",
        "http://localhost:8080",
        "http://127.0.0.1:8080.evil.example",
        "null",
        "",
    ],
)
def test_another_web_page_may_not_write(origin: str) -> None:
    document = assert_problem(write({"Origin": origin}), 403, "loopback-only")
    assert "web page" in document["detail"]


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/plain; application/json",
    ],
)
def test_what_a_plain_form_can_send_is_not_taken(content_type: str) -> None:
    document = assert_problem(write({"Content-Type": content_type}), 415, "unsupported-content-type")
    assert document["parameter"] == "Content-Type"


def test_a_body_without_a_content_type_is_not_taken() -> None:
    answer = asyncio.run(ask(guarded(), "POST", "/write", content=b"{}"))
    assert_problem(answer, 415, "unsupported-content-type")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.255.0.1", "::1", "[::1]"])
def test_loopback_has_these_names(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "example.org", "localhost.localdomain", "127.1", "1270.0.0.1"])
def test_loopback_has_no_other_names(host: str) -> None:
    assert not is_loopback(host)
