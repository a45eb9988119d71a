"""A run: several clients at once on one store, a history of what they did, and the laws it must obey."""

import asyncio
import queue
import random
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

from support.leases.checker import check
from support.leases.clients import Client, Opened
from support.leases.history import History


@dataclass(frozen=True)
class Stage:
    """A clean store. `restart` kills it and starts it again on its data, where there is a server to kill."""

    open: Callable[[], AbstractAsyncContextManager[Opened]]
    restart: Callable[[], None] | None = None


@dataclass(frozen=True)
class Run:
    """A seed repeats what each client chooses to do; when the store does it is the store's own affair."""

    seed: int
    clients: int = 3
    steps: int = 60
    restarts: int = 0

    def on(self, stage: Stage) -> History:
        """Returns the history once it has been checked; what is wrong is told with the seed."""
        print(f"lease history: seed {self.seed}, {self.clients} clients, {self.steps} steps")  # noqa: T201 - for whoever repeats it
        history = History()
        try:
            self._let_clients_loose(stage, history)
            asyncio.run(self._finish(stage, history))
            check(history)
        except BaseException as error:
            error.add_note(f"the run was {self}")
            raise
        return history

    def _let_clients_loose(self, stage: Stage, history: History) -> None:
        crowd = _Crowd(self.clients)

        def live(number: int) -> None:
            try:
                asyncio.run(self._live(number, stage, history, crowd))
            except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
                crowd.failures.append(error)
                crowd.ready.abort()
            finally:
                crowd.wishes.put("ended")

        threads = [threading.Thread(target=live, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        crowd.attend(stage)
        for thread in threads:
            thread.join()
        if crowd.failures:
            barrier = threading.BrokenBarrierError
            raise next((each for each in crowd.failures if not isinstance(each, barrier)), crowd.failures[0])

    async def _live(self, number: int, stage: Stage, history: History, crowd: "_Crowd") -> None:
        rng = random.Random(f"{self.seed}/{number}")
        restarts = self._restarts() if number == 0 and stage.restart else set()
        async with stage.open() as opened:
            client = Client(f"client {number}", opened, history, rng)
            crowd.ready.wait(60)
            for step in range(self.steps):
                if step in restarts:
                    crowd.wishes.put("restart")
                if not crowd.store_is_up.is_set():
                    await asyncio.to_thread(crowd.store_is_up.wait, 60)
                await client.step()

    def _restarts(self) -> set[int]:
        return {self.steps * (number + 1) // (self.restarts + 1) for number in range(self.restarts)}

    async def _finish(self, stage: Stage, history: History) -> None:
        async with stage.open() as opened:
            await Client("last", opened, history, random.Random(self.seed)).finish()


class _Crowd:
    """Clients in their threads, and the thread that waits for them. It alone restarts servers: one that is started by
    another thread would end with that.
    """

    def __init__(self, clients: int) -> None:
        self.ready = threading.Barrier(clients)
        self.wishes: queue.Queue[Literal["restart", "ended"]] = queue.Queue()
        self.store_is_up = threading.Event()
        self.store_is_up.set()
        self.failures: list[BaseException] = []
        self._alive = clients

    def attend(self, stage: Stage) -> None:
        while self._alive:
            if self.wishes.get() == "ended":
                self._alive -= 1
            elif stage.restart:
                self.store_is_up.clear()
                stage.restart()
                self.store_is_up.set()
