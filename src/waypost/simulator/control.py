"""Routes below /-/ for the person who runs the provider: what it saw, what it has, and how fast that changes."""

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from importlib.resources import files
from typing import Annotated

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from waypost.simulator.changes import Made, ProviderChanges, Rates
from waypost.simulator.journal import Journal, Seen
from waypost.simulator.provider import Provider

_ROWS_AT_ONCE = 1000
_MOST_BODY = 10_000
Rate = Annotated[float, msgspec.Meta(ge=0, le=100_000)]


class WantedRates(msgspec.Struct, forbid_unknown_fields=True):
    """Rates to set, in changes per second; rates that are not named stay as they are."""

    edits: Rate | None = None
    deletions: Rate | None = None
    additions: Rate | None = None


class ProviderState(msgspec.Struct):
    places: int
    rates: Rates
    made: Made
    seen: Seen


class Control:
    def __init__(self, provider: Provider, changes: ProviderChanges, journal: Journal) -> None:
        self._provider = provider
        self._changes = changes
        self._journal = journal
        self._page = (files("waypost.simulator") / "page.html").read_text(encoding="utf-8")
        self._headers = {"Content-Security-Policy": _policy(self._page), "Cache-Control": "no-store"}

    async def page(self, _request: Request) -> Response:
        return HTMLResponse(self._page, headers=self._headers)

    async def seen(self, _request: Request) -> Response:
        changes = self._changes
        return _json(ProviderState(len(self._provider), changes.rates, changes.made, self._journal.seen()))

    async def change(self, request: Request) -> Response:
        """Sets the rates; once this is answered, no change is made at an earlier rate."""
        # A form on some web page that is open on this machine cannot send this type.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("send it as application/json\n", 415)
        try:
            wish = msgspec.json.decode(await _body(request), type=WantedRates)
        except msgspec.DecodeError as error:
            return PlainTextResponse(f'send rates, as in {{"edits": 50, "deletions": 0}}: {error}\n', 400)
        given = {name: rate for name, rate in msgspec.structs.asdict(wish).items() if rate is not None}
        self._changes.rates = replace(self._changes.rates, **given)
        return _json({"rates": asdict(self._changes.rates), "made": asdict(self._changes.made)})

    async def export(self, _request: Request) -> Response:
        return StreamingResponse(self._lines(), media_type="application/x-ndjson")

    async def _lines(self) -> AsyncIterator[bytes]:
        """Yields each published record as it is when its turn comes."""
        begin = 0
        while begin < len(self._provider.columns.ids):
            end = begin + _ROWS_AT_ONCE
            rows = begin + np.flatnonzero(self._provider.columns.published[begin:end])
            if len(rows):
                records = await asyncio.to_thread(self._provider.take, rows)
                yield b"\n".join((*records, b""))
            begin = end


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY:
            break
    return body


def _json(document: object) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json", headers={"Cache-Control": "no-store"})


def _policy(page: str) -> str:
    """A content security policy that allows the page's own script and style, and nothing injected."""
    script, style = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (_between("script", page), _between("style", page))
    )
    return f"default-src 'none'; connect-src 'self'; script-src 'sha256-{script}'; style-src 'sha256-{style}'"


def _between(tag: str, page: str) -> str:
    match = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return match[1] if match else ""
