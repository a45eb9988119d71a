"""What happens to workers and their store: every second a worker is killed, and all the time one is stopped for longer
than its lease; and once the store is killed and started again.
"""

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
from support.servers.private import PrivateServer
from waypost.kernel.tasks import end

# In leases, from the shortest to the longest, that somebody is stopped; and the pause before the next, in seconds.
_STOPPED = (1.2, 1.8)
_PAUSE = (0.2, 1.0)
# In leases: as long as a stopped worker waits at most for others to take over what it held.
_LONGEST_STOP = 4.0
_LOOK_SECONDS = 0.25
# At least this part of the fleet stays at work.
_LEAST_AT_WORK = 0.5
# In seconds, from the shortest to the longest, that the store is away.
_DOWN = (0.2, 2.0)


@dataclass
class Mishap:
    """`held` are the jobs that it hit: of each, at most one request is wasted. Times are of the monotonic clock."""

    kind: Literal["kill", "stop", "restart"]
    worker: str
    began: float
    ended: float
    held: list[HeldJob] = field(default_factory=list)
    # How many of them others had taken over before the worker went on, still believing to hold them.
    overtaken: int = 0
    # Whether it kept everybody else from writing.
    blocks: bool = False


class Mischief:
    def __init__(
        self, fleet: Fleet, view: View, plan: Plan, rng: random.Random, server: PrivateServer | None = None
    ) -> None:
        self._fleet = fleet
        self._view = view
        self._plan = plan
        self._rng = rng
        self._server = server
        # What somebody held is asked of the store, so that it must be there.
        self._store_is_there = asyncio.Lock()
        self.mishaps: list[Mishap] = []

    @property
    def has_server(self) -> bool:
        return self._server is not None

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

    async def restart_the_store(self) -> None:
        """A server is killed and comes back on the same data; where there is none, all workers are killed at once."""
        async with self._store_is_there:
            mishap = Mishap("restart", "all", time.monotonic(), float("inf"))
            self.mishaps.append(mishap)
            before = await self._view.held()
            if self._server:
                await asyncio.to_thread(self._server.kill)
                await asyncio.sleep(self._rng.uniform(*_DOWN))
                await asyncio.to_thread(self._server.start)
            else:
                self._kill_all()
            # Some of them had brought and committed another page between the first look and the end of the store.
            mishap.held = list({(job.shard, job.question): job for job in (*before, *await self._view.held())}.values())
            mishap.ended = time.monotonic()

    def _kill_all(self) -> None:
        for worker in [each for each in self._fleet.at_work() if not each.is_stopped]:
            self._fleet.kill(worker)
            self._fleet.start_one()

    async def _kill_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(self._plan.kill_every)
            async with self._store_is_there:
                if worker := self._victim():
                    await self._kill(worker)

    async def _kill(self, worker: Worker) -> None:
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
        mishap = Mishap("stop", worker.name, time.monotonic(), float("inf"))
        try:
            async with self._store_is_there:
                worker.stop()
                self.mishaps.append(mishap)
                # Who is stopped with SQLite's lock in its hands stops everybody.
                mishap.blocks = await self._view.is_blocked()
                mishap.held = await self._view.held(None if mishap.blocks else worker.name)
            await asyncio.sleep(self._plan.lease * self._rng.uniform(*_STOPPED))
            await self._wait_for_others(mishap)
        finally:
            worker.go_on()
            mishap.ended = time.monotonic()

    async def _wait_for_others(self, mishap: Mishap) -> None:
        """Until they have taken something over; they cannot while they are blocked."""
        give_up = mishap.began + self._plan.lease * _LONGEST_STOP
        mishap.overtaken = await self._view.overtaken(mishap.held)
        while mishap.held and not mishap.overtaken and not mishap.blocks and time.monotonic() < give_up:
            await asyncio.sleep(_LOOK_SECONDS)
            mishap.overtaken = await self._view.overtaken(mishap.held)

    def _victim(self, among: Collection[str] | None = None) -> Worker | None:
        """Somebody at work, if enough others are: after a kill, the next one needs a moment to begin."""
        at_work = self._fleet.at_work()
        if len(at_work) <= self._fleet.size * _LEAST_AT_WORK:
            return None
        chosen = [worker for worker in at_work if among is None or worker.name in among]
        return self._rng.choice(chosen) if chosen else None
