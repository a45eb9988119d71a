"""Connections that fall silent, in whatever state: each is closed in time, so nobody can hold them all."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from support.link_service import link_service
from waypost.roles.kit.http_server import HttpServer, listen
from waypost.web.http import client_deadlines
from waypost.web.http.open_connections import ConnectionLimits

pytestmark = pytest.mark.anyio

CONNECTIONS = 150
PATIENCE = 30.0
LONG_WAY = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
HOT_PATH = b"GET /v1/places/sim:1 HTTP/1.1\r\nHost: a\r\n\r\n"
# Refused before its body is read: nobody needs a key for that.
BULK = (
    b"POST /v1/links/bulk HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n"
    b"Content-Type: application/x-ndjson\r\nContent-Length: 100\r\n\r\n"
)
TOO_LARGE = b"POST /v1/links HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"x" * 70_000
CHUNKED = b"POST /v1/links HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
UPGRADE = b"GET /livez HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
PIECES = [
    LONG_WAY,
    LONG_WAY * 3,
    HOT_PATH,
    HOT_PATH + LONG_WAY,
    BULK,
    TOO_LARGE,
    CHUNKED,
    UPGRADE,
    UPGRADE + LONG_WAY,
    b"HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /v1/places HTTP/1.1\r\nHost: loc",
    b"\r\n",
    b"\r\n\r\n",
    b"x",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"y" * 30,
    b"",
]


@pytest.fixture
async def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[str, int]]:
    """Of a server with little patience, which has everything."""
    monkeypatch.setattr(client_deadlines, "_HEAD_SECONDS", 0.5)
    monkeypatch.setattr(client_deadlines, "_READ_SECONDS", 0.5)
    monkeypatch.setattr("waypost.web.http.middleware._BODY_SECONDS", 0.5)
    async with link_service(tmp_path, places=3) as service:
        with listen("127.0.0.1", 0, moves_on=False) as sock:
            where = sock.getsockname()
            server = HttpServer(service.app, ConnectionLimits(keep_alive=0.5))
            serving = asyncio.create_task(server.serve(sockets=[sock]))
            yield where
            server.stop()
            await serving


@asynccontextmanager
async def connected(address: tuple[str, int]) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_until_closed(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            while await reader.read(65536):
                pass


@pytest.mark.parametrize(
    ("request_bytes", "stray"),
    [
        (LONG_WAY, b"\r\n"),
        (HOT_PATH, b"\r\n"),
        (TOO_LARGE, b"x"),
        (BULK, b"x"),
        (BULK, b"x" * 100 + b"\r\n"),
        (UPGRADE, b"\r\n"),
    ],
)
async def test_a_stray_byte_after_an_answer_does_not_keep_a_connection(
    address: tuple[str, int], request_bytes: bytes, stray: bytes
) -> None:
    async with connected(address) as (reader, writer):
        writer.write(request_bytes)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(stray)
        await read_until_closed(reader)


async def test_whatever_was_sent_and_however_fast_a_silent_connection_is_closed(address: tuple[str, int]) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - a failure shows it
    draw = random.Random(seed)
    plans = [draw.choices(PIECES, k=draw.randint(0, 5)) for _ in range(CONNECTIONS)]
    ended = await asyncio.gather(
        *(_send_and_fall_silent(address, plan, random.Random(draw.random())) for plan in plans),
        return_exceptions=True,
    )
    kept = [plan for plan, end in zip(plans, ended, strict=True) if end is not None]
    assert kept == []


async def _send_and_fall_silent(address: tuple[str, int], plan: list[bytes], draw: random.Random) -> None:
    async with connected(address) as (reader, writer):
        with suppress(ConnectionError):
            for piece in plan:
                cut = draw.randint(0, len(piece))
                for part in (piece[:cut], piece[cut:]):
                    writer.write(part)
                    # A pace, not a wait: at once, in the next turn of the loop, or when an answer may have come.
                    await asyncio.sleep(draw.choice([0, 0, 0.01, 0.2]))
        await read_until_closed(reader)
