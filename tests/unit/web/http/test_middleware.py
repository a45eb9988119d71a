"""Bounds on what comes in, problems as documents, and metrics that no client can invent."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import httpx
import pytest
from fastapi import Body, FastAPI
from starlette.types import ASGIApp, Message
from structlog.testing import capture_logs

from support.asking import ask, assert_problem, get, send_raw
from waypost.kernel.errors import (
    AskedWrongly,
    Conflict,
    Forbidden,
    NotFound,
    TerminalError,
    TransientError,
)
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import HTTP_REQUESTS, HTTP_SECONDS
from waypost.telemetry.rated_log import RatedLog
from waypost.web.http import middleware, problems
from waypost.web.http.middleware import Bounds
from waypost.web.http.problems import add_problem_handlers

MOST = 64 * 1024
JSON = {"Content-Type": "application/json"}

ERRORS: dict[str, Exception] = {
    "asked": AskedWrongly("not like this", parameter="bbox"),
    "forbidden": Forbidden("not you"),
    "missing": NotFound("not here"),
    "taken": Conflict("not yours"),
    "later": TransientError("not now", next_step="a secret next step"),
    "never": TerminalError("not ever"),
    "defect": ValueError("the password is hunter2"),
    "late": TimeoutError("the password is hunter2"),
}


@pytest.fixture(scope="module")
def app() -> ASGIApp:
    inner = FastAPI(docs_url=None, redoc_url=None)
    add_problem_handlers(inner)

    @inner.get("/fail/{how}")
    async def fail(how: str) -> None:
        raise ERRORS.get(how, NotFound("no such error"))

    @inner.get("/count")
    async def count(number: int) -> int:
        return number

    @inner.post("/echo")
    async def echo(text: Annotated[str, Body(embed=True)]) -> int:
        return len(text)

    return Bounds(inner)


@pytest.mark.parametrize(
    ("how", "status", "slug"),
    [
        ("asked", 400, "asked-wrongly"),
        ("forbidden", 403, "forbidden"),
        ("missing", 404, "not-found"),
        ("taken", 409, "conflict"),
        ("later", 503, "transient"),
        ("never", 500, "terminal"),
    ],
)
def test_every_kind_of_error_is_a_problem_document(app: ASGIApp, how: str, status: int, slug: str) -> None:
    document = assert_problem(get(app, f"/fail/{how}"), status, slug)
    assert document["detail"] == str(ERRORS[how])
    assert document.get("parameter") == ("bbox" if how == "asked" else None)


@pytest.mark.parametrize("how", ["defect", "late"])
def test_a_defect_says_nothing_about_itself(app: ASGIApp, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "rated", RatedLog(get_logger("web")))
    with capture_logs() as logged:
        answer = get(app, f"/fail/{how}")
    assert_problem(answer, 500, "defect")
    assert [(line["log_level"], line["path"], line["exc_info"]) for line in logged] == [
        ("error", f"/fail/{how}", ERRORS[how])
    ]
    for leak in ("hunter2", "ValueError", "Timeout", "Traceback", ".py"):
        assert leak not in answer.text


@pytest.mark.parametrize("how", ["defect", "late"])
def test_a_defect_is_answered_once(app: ASGIApp, how: str) -> None:
    sent: list[Message] = []
    with capture_logs(), pytest.raises(type(ERRORS[how])):
        asyncio.run(send_raw(app, "GET", f"/fail/{how}", sent=sent))
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [500]


def test_an_unknown_address_is_a_problem_document(app: ASGIApp) -> None:
    document = assert_problem(get(app, "/no/such/thing"), 404, "not-found")
    assert document["detail"] == "there is nothing at /no/such/thing"
    assert len(get(app, "/" + "x" * 5000).json()["detail"]) < 300


def test_a_method_that_is_not_for_an_address_is_told_which_are(app: ASGIApp) -> None:
    answer = get(app, "/count", "DELETE")
    assert_problem(answer, 405, "http-error")
    assert answer.headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("method", "path", "more", "parameter"),
    [
        ("GET", "/count", {}, "number"),
        ("GET", "/count?number=many", {}, "number"),
        ("POST", "/echo", {"json": {}}, "text"),
        ("POST", "/echo", {"json": {"text": 5}}, "text"),
        ("POST", "/echo", {"content": b"{", "headers": JSON}, None),
        ("POST", "/echo", {"content": b"\xff", "headers": JSON}, None),
        ("POST", "/echo", {}, None),
    ],
)
def test_what_cannot_be_understood_names_the_parameter(
    app: ASGIApp, method: str, path: str, more: dict[str, object], parameter: str | None
) -> None:
    answer = get(app, path, method, **more)
    assert answer.status_code == 400
    document = assert_problem(answer, 400, answer.json()["type"].removeprefix("urn:waypost:"))
    assert parameter is None or document["parameter"] == parameter


def test_a_value_that_cannot_be_used_is_not_sent_back(app: ASGIApp) -> None:
    assert "hunter2" not in get(app, "/count?number=hunter2").text


@pytest.mark.parametrize("address", ["/count?number=" + "1" * 9000, "/" + "x" * 9000])
def test_an_address_that_is_too_long_is_refused(app: ASGIApp, address: str) -> None:
    document = assert_problem(get(app, address), 400, "address-too-long")
    assert "8192" in document["detail"]


def echo(app: ASGIApp, size: int, *, announced: bool) -> httpx.Response:
    body = b'{"text":"' + b"x" * (size - 11) + b'"}'

    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1000):
            yield body[start : start + 1000]

    async def send() -> httpx.Response:
        return await ask(app, "POST", "/echo", headers=JSON, content=body if announced else parts())

    answer = asyncio.run(send())
    assert ("content-length" in answer.request.headers) is announced
    return answer


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_of_just_the_bound_is_taken(app: ASGIApp, *, announced: bool) -> None:
    assert echo(app, MOST, announced=announced).json() == MOST - 11


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_beyond_the_bound_is_refused(app: ASGIApp, *, announced: bool) -> None:
    document = assert_problem(echo(app, MOST + 1, announced=announced), 413, "body-too-large")
    assert "65536" in document["detail"]


def test_a_body_that_never_ends_is_not_read_to_the_end(app: ASGIApp) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1000
            yield b" " * 1000

    answer = get(app, "/echo", "POST", headers=JSON, content=endless())
    assert answer.status_code == 413
    assert taken < 2 * MOST


def test_a_body_that_does_not_arrive_is_not_waited_for(app: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = middleware.read_body.__kwdefaults__
    assert defaults
    monkeypatch.setitem(defaults, "seconds", 0.05)

    async def stalled() -> AsyncIterator[bytes]:
        yield b'{"text":'
        await asyncio.Event().wait()

    assert_problem(get(app, "/echo", "POST", headers=JSON, content=stalled()), 408, "body-too-slow")


def test_half_a_body_of_a_client_that_went_away_is_not_acted_on(app: ASGIApp) -> None:
    announced = [(b"content-length", b"100"), (b"content-type", b"application/json")]
    sent: list[Message] = []
    asyncio.run(send_raw(app, "POST", "/echo", headers=announced, body=(b'{"text":"x"}', None), sent=sent))
    assert sent[0]["status"] == 400
    assert b"body-incomplete" in sent[1]["body"]


def labels() -> set[tuple[str, ...]]:
    return {
        tuple(sample.labels.get(name, "") for name in ("route", "method"))
        for metric in (HTTP_REQUESTS, HTTP_SECONDS)
        for family in metric.collect()
        for sample in family.samples
    }


def test_no_client_can_invent_metrics(app: ASGIApp) -> None:
    before = labels()
    for at in range(20):
        get(app, f"/invented/{at}")
        get(app, f"/fail/invented-{at}")
        get(app, "/count", f"INVENT{at}")
        get(app, f"/{at}" + "x" * 9000)
    assert {route for route, _ in labels() - before} <= {"unmatched", "/fail/{how}", "/count"}
    assert {method for _, method in labels() - before} <= {"GET", "other", ""}
    assert len(labels() - before) < 12


def test_requests_are_counted_by_route_method_and_status(app: ASGIApp) -> None:
    def counted() -> float:
        return float(HTTP_REQUESTS.labels("/count", "GET", "200")._value.get())

    before = counted()
    assert get(app, "/count?number=7").headers["x-content-type-options"] == "nosniff"
    assert counted() == before + 1
