"""Server processes, which come and go, each at an address that stays."""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from drills.importing.programs import Program
from support.servers.sharing import free_port

_UP = r"Waypost serves at"


class Server:
    """One process: `waypost serve redirect`."""

    def __init__(self, folder: Path, name: str, port: int, env: Mapping[str, str]) -> None:
        self.name = name
        self.program = Program(folder, name, "serve", "redirect", "--port", str(port), env=env)
        self.is_up = False
        self.is_killed = False

    async def come_up(self) -> None:
        await self.program.says(_UP)
        self.is_up = not self.is_killed

    def kill(self) -> None:
        """SIGKILL; a stopped one dies as well."""
        self.is_killed, self.is_up = True, False
        self.program.kill()

    def stop(self) -> None:
        self.program.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        if self.program.is_running:
            self.program.signal(signal.SIGCONT)


class Slot:
    """An address, and whoever serves it now."""

    def __init__(self, port: int, server: Server) -> None:
        self.port = port
        self.server = server


class Fleet:
    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder = folder
        self._env = env
        self._started = 0
        self._coming: set[asyncio.Task[None]] = set()
        self.slots: list[Slot] = []
        # Those that ended by themselves, or badly when they were asked to.
        self.deserters: list[str] = []

    async def start(self, size: int) -> None:
        """Returns once all of them are up."""
        for _ in range(size):
            port = free_port()
            self.slots.append(Slot(port, self._new(port)))
        await asyncio.gather(*(slot.server.come_up() for slot in self.slots))

    def at_work(self) -> Sequence[Slot]:
        for slot in self.slots:
            if not slot.server.program.is_running:
                self.deserters.append(slot.server.name)
                self.replace(slot)
        return [slot for slot in self.slots if slot.server.is_up]

    def replace(self, slot: Slot) -> None:
        """It comes up by and by."""
        slot.server = self._new(slot.port)
        coming = asyncio.create_task(slot.server.come_up())
        self._coming.add(coming)
        coming.add_done_callback(self._coming.discard)

    def end(self) -> None:
        """All are asked to end, ship what they have, and do."""
        for slot in self.slots:
            slot.server.program.signal(signal.SIGTERM)
        self.deserters += [slot.server.name for slot in self.slots if slot.server.program.wait()]
        self.slots.clear()

    def kill_all(self) -> None:
        for slot in self.slots:
            if not slot.server.program.is_running:
                self.deserters.append(slot.server.name)
            slot.server.kill()
        self.slots.clear()
        for coming in self._coming:
            coming.cancel()

    def logs(self) -> list[Path]:
        """Of all that there ever were."""
        return sorted(self._folder.glob("server-*.log"))

    def _new(self, port: int) -> Server:
        self._started += 1
        return Server(self._folder, f"server-{self._started:03}", port, self._env)
