"""A simulated provider that runs beside a process's other work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waypost.roles.kit.http_server import HttpServer, address, listen
from waypost.simulator.app import make_app
from waypost.simulator.generate import generate

DEFAULT_PORT = 8090
HOST = "127.0.0.1"


@asynccontextmanager
async def simulated(places: int, seed: int) -> AsyncIterator[str]:
    """Runs a simulated provider, and yields its address."""
    with listen(HOST, DEFAULT_PORT, moves_on=True) as sock:
        provider = await asyncio.to_thread(generate, places, seed)
        server = HttpServer(make_app(provider, key=None))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        try:
            yield address(sock)
        finally:
            server.stop()
            await serving
