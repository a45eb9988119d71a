"""All attacks by name, with how many tries each has, and how one is run."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

import uvloop

from support.attacks.guard_tricks import guard_tricks
from support.attacks.markup import markup
from support.attacks.odd_bodies import odd_bodies
from support.attacks.odd_parameters import odd_parameters
from support.attacks.odd_requests import odd_requests, split_requests
from support.attacks.target_spellings import target_spellings


class Attack(NamedTuple):
    """`some` tries in `make test`, and `many` in `make chaos`."""

    attack: Callable[[Path, Random, int], Awaitable[None]]
    some: int
    many: int

    def run(self, folder: Path, seed: int, tries: int) -> None:
        """On the event loop that servers have."""
        print(f"to repeat it: SEED={seed}")  # noqa: T201 - for whoever repeats it
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._attack(folder, seed, tries))

    async def _attack(self, folder: Path, seed: int, tries: int) -> None:
        await self.attack(folder, Random(seed), tries)


ATTACKS = {
    "odd-requests": Attack(odd_requests, 1600, 5000),
    "split-requests": Attack(split_requests, 20, 162),
    "target-spellings": Attack(target_spellings, 1000, 5000),
    "guard-tricks": Attack(guard_tricks, 80, 300),
    # Each text is tried in more than twenty places.
    "markup": Attack(markup, 32, 150),
    "odd-parameters": Attack(odd_parameters, 1500, 5000),
    "odd-bodies": Attack(odd_bodies, 262, 1000),
}
