"""What happens to servers: every second one is killed and another started in its place, and now and then one is stopped
for a while.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from drills.visits.plan import Plan
from drills.visits.servers import Fleet, Slot
from drills.visits.spool import SpoolFolder
from waypost.kernel.tasks import end

# In seconds, from the shortest to the longest.
_STOPPED = (0.3, 2.0)
_PAUSE = (0.2, 1.5)
# At least this part of the fleet is up before the next one is killed.
_LEAST_UP = 0.5


class Mischief:
    def __init__(self, fleet: Fleet, spool: SpoolFolder, plan: Plan, rng: random.Random) -> None:
        self._fleet = fleet
        self._spool = spool
        self._plan = plan
        self._rng = rng
        self.kills = 0
        self.stops = 0

    @property
    def has_tried_all(self) -> bool:
        return self.kills > 0 and self.stops > 0

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
            if slot := self._victim():
                slot.server.kill()
                self.kills += 1
                self._spool.copy()
                self._fleet.replace(slot)

    async def _stop_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(*_PAUSE))
            if slot := self._victim():
                server = slot.server
                server.stop()
                self.stops += 1
                try:
                    await asyncio.sleep(self._rng.uniform(*_STOPPED))
                finally:
                    server.go_on()

    def _victim(self) -> Slot | None:
        at_work = self._fleet.at_work()
        return self._rng.choice(at_work) if len(at_work) > len(self._fleet.slots) * _LEAST_UP else None
