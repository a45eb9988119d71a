"""The simulated provider as a role of its own, and inside `up`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waypost.kernel.stopping import Stop
from waypost.roles.kit.sockets import HttpServer, address, listen
from waypost.roles.serve import OnUp, answer, background
from waypost.simulator.app import make_app
from waypost.simulator.changes import Changes, Rates
from waypost.simulator.conduct import Conduct
from waypost.simulator.files import load
from waypost.simulator.generate import generate
from waypost.simulator.journal import Journal, open_log

DEFAULT_PORT = 8090
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Stage:
    """What the provider has, and what happens to it while it runs."""

    places: int
    seed: int
    file: Path | None = None
    rates: Rates = field(default_factory=Rates)
    log: Path | None = None


async def simulate(stop: Stop, on_up: OnUp, stage: Stage, conduct: Conduct, *, port: int, moves_on: bool) -> None:
    """`waypost simulator run`."""
    async with AsyncExitStack() as stack:
        sock = stack.enter_context(listen(HOST, port, moves_on=moves_on))
        journal = Journal(stack.enter_context(open_log(stage.log)) if stage.log else None)
        if stage.file:
            provider = await asyncio.to_thread(load, stage.file)
        else:
            provider = await asyncio.to_thread(generate, stage.places, stage.seed)
        changes = Changes(provider, stage.seed, stage.rates)
        await stack.enter_async_context(background(changes.run()))
        await answer(
            make_app(provider, key=conduct.key, conduct=conduct, changes=changes, journal=journal), sock, stop, on_up
        )


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
