"""The simulated provider as a process of its own: its places, what happens to them, and a log of requests."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import background
from waypost.roles.kit.http_server import OnUp, answer, listen
from waypost.roles.kit.simulated_provider import HOST
from waypost.simulator.app import make_app
from waypost.simulator.changes import ProviderChanges, Rates
from waypost.simulator.conduct import Conduct
from waypost.simulator.files import load
from waypost.simulator.generate import generate
from waypost.simulator.journal import Journal, open_log


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
        changes = ProviderChanges(provider, stage.seed, stage.rates)
        await stack.enter_async_context(background(changes.run()))
        await answer(
            make_app(provider, key=conduct.key, conduct=conduct, changes=changes, journal=journal), sock, stop, on_up
        )
