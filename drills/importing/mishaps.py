"""What happens to workers: every second one is killed, and all the time one is stopped for longer than its lease."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from drills.importing.fleet import Fleet, Worker
from drills.importing.plan import Plan
from drills.importing.view import HeldJob, View
from waypost.kernel.tasks import end

# In leases, from the shortest to the longest, that somebody is stopped; and the pause before the next, in seconds.
_STOPPED = (1.2, 1.8)
_PAUSE = (0.2, 1.0)
# At least this part of the fleet stays at work.
_LEAST_AT_WORK = 0.5


@dataclass
class Mishap:
    """`held` are the jobs that it hit: of each, at most one request is wasted. Times are of the monotonic clock."""

    kind: Literal["kill", "stop"]
    worker: str
    began: float
    ended: float
    held: list[HeldJob] = field(default_factory=list)
    # How many of them others had taken over before the worker went on, still believing to hold them.
    overtaken: int = 0


class Mischief:
    def __init__(self, fleet: Fleet, view: View, plan: Plan, rng: random.Random) -> None:
        self._fleet = fleet
        self._view = view
        self._plan = plan
        self._rng = rng
        self.mishaps: list[Mishap] = []

    def count(self, kind: str) -> int:
        return sum(mishap.kind == kind for mishap in self.mishaps)

    @asynccontextmanager
    async def at_large(self) -> AsyncIterator[None]:
        """While this lasts. Afterwards nobody is stopped any more."""
        tasks = [asyncio.create_task(self._kill_again_and_again()), asyncio.create_task(self._stop_again_and_again())]
        try:
            yield
        finally:
            failed = [task.exception() for task in tasks if task.done()]
            await end(*tasks)
        for error in failed:
            if error:
                raise error

    async def _kill_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(self._plan.kill_every)
            if worker := self._victim():
                self._fleet.kill(worker)
                now = time.monotonic()
                mishap = Mishap("kill", worker.name, now, now)
                self.mishaps.append(mishap)
                # Its leases are its own until they run out, so that there is time to look.
                mishap.held = await self._view.held(worker.name)
                self._fleet.start_one()

    async def _stop_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(*_PAUSE))
            # It should have something that others can take from it.
            owners = {job.owner for job in await self._view.held()}
            if worker := self._victim(owners):
                await self._stop(worker)

    async def _stop(self, worker: Worker) -> None:
        worker.stop()
        mishap = Mishap("stop", worker.name, time.monotonic(), float("inf"))
        self.mishaps.append(mishap)
        try:
            # Who is stopped with SQLite's lock in its hands stops everybody.
            is_blocked = await self._view.is_blocked()
            mishap.held = await self._view.held(None if is_blocked else worker.name)
            await asyncio.sleep(self._plan.lease * self._rng.uniform(*_STOPPED))
            mishap.overtaken = await self._view.overtaken(mishap.held)
        finally:
            worker.go_on()
            mishap.ended = time.monotonic()

    def _victim(self, among: Collection[str] | None = None) -> Worker | None:
        """Somebody at work, if enough others are: after a kill, the next one needs a moment to begin."""
        at_work = self._fleet.at_work()
        if len(at_work) <= self._fleet.size * _LEAST_AT_WORK:
            return None
        chosen = [worker for worker in at_work if among is None or worker.name in among]
        return self._rng.choice(chosen) if chosen else None
