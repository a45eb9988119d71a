"""The simulated provider as a role of its own, and inside `up`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from waypost.roles.listening import HttpServer, address, listen
from waypost.roles.running import Stop
from waypost.roles.serving import OnUp, answer
from waypost.simulator.app import make_app
from waypost.simulator.files import load
from waypost.simulator.generate import generate

DEFAULT_PORT = 8090
HOST = "127.0.0.1"


async def simulate(
    stop: Stop, on_up: OnUp, *, places: int, seed: int, file: Path | None, key: str | None, port: int, moves_on: bool
) -> None:
    """`waypost simulator run`."""
    sock = listen(HOST, port, moves_on=moves_on)
    with sock:
        provider = await (asyncio.to_thread(load, file) if file else asyncio.to_thread(generate, places, seed))
        await answer(make_app(provider, key=key), sock, stop, on_up)


@asynccontextmanager
async def simulated(places: int, seed: int) -> AsyncIterator[str]:
    """A simulated provider beside whatever runs in this process; yields its address."""
    with listen(HOST, DEFAULT_PORT, moves_on=True) as sock:
        provider = await asyncio.to_thread(generate, places, seed)
        server = HttpServer(make_app(provider, key=None))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        try:
            yield address(sock)
        finally:
            server.stop()
            await serving
