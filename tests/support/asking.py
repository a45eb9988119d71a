"""Asks an app as a client on this machine would, without a socket in between."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from starlette.types import ASGIApp, Message

BASE = "http://127.0.0.1:8080"


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    peer: str = "127.0.0.1",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> httpx.Response:
    """`more` is what httpx takes: json, content, params."""
    transport = httpx.ASGITransport(app=app, client=(peer, 50_000), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
        return await client.request(method, path, headers=headers, **more)


def get(app: ASGIApp, path: str, method: str = "GET", **more: Any) -> httpx.Response:
    return asyncio.run(ask(app, method, path, **more))


async def send_raw(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    sent: list[Message],
    headers: Sequence[tuple[bytes, bytes]] = (),
    body: Sequence[bytes | None] = (b"",),
) -> None:
    """Sends a request exactly as given, where httpx would tidy up; a `None` in the body is the client going away."""
    parts = iter(body)

    async def receive() -> Message:
        part = next(parts, None)
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": len(body) > 1}

    async def send(message: Message) -> None:
        sent.append(message)

    given = {name for name, _ in headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [*headers] if b"host" in given else [(b"host", b"127.0.0.1:8080"), *headers],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8080),
        "root_path": "",
    }
    await app(scope, receive, send)


def assert_problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The problem document, after looking at what all of them have in common."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    document = answer.json()
    assert isinstance(document, dict)
    assert (document["type"], document["status"]) == (f"urn:waypost:{slug}", status)
    assert document["title"]
    assert document["detail"]
    return document
