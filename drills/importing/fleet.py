"""Worker processes, which come and go."""

import signal
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from drills.importing.programs import Program

_AT_WORK = r"worker (\S+) is at work"


class Worker:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.is_stopped = False

    @property
    def is_at_work(self) -> bool:
        return not self.is_stopped and self.program.said(_AT_WORK) is not None

    @cached_property
    def name(self) -> str:
        """Under which it holds leases."""
        found = self.program.said(_AT_WORK)
        assert found, "it is not at work yet"
        return found[1]

    def stop(self) -> None:
        self.is_stopped = True
        self.program.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.program.signal(signal.SIGCONT)
        self.is_stopped = False


class Fleet:
    def __init__(self, folder: Path, env: Mapping[str, str], size: int) -> None:
        self._folder = folder
        self._env = env
        self._started = 0
        self.size = size
        self.workers: list[Worker] = []
        # Those that ended by themselves, which none of them should.
        self.deserters: list[str] = []

    def start_one(self) -> None:
        self._started += 1
        name = f"worker-{self._started:03}"
        self.workers.append(Worker(Program(self._folder, name, "worker", "run", env=self._env)))

    async def start(self) -> None:
        """Returns once all of them are at work."""
        for _ in range(self.size):
            self.start_one()
        for worker in self.workers:
            await worker.program.says(_AT_WORK)

    def at_work(self) -> Sequence[Worker]:
        for worker in [worker for worker in self.workers if not worker.program.is_running]:
            self.deserters.append(worker.program.name)
            self.workers.remove(worker)
            self.start_one()
        return [worker for worker in self.workers if worker.is_at_work]

    def kill(self, worker: Worker) -> None:
        worker.program.kill()
        self.workers.remove(worker)

    def end(self) -> None:
        """All are asked to end, and do; who is only starting knows no other way than to die."""
        at_work = set(self.at_work())
        for worker in self.workers:
            worker.program.signal(signal.SIGTERM)
        for worker in self.workers:
            if worker.program.wait() and worker in at_work:
                self.deserters.append(worker.program.name)
        self.workers.clear()

    def kill_all(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)

    def logs(self) -> list[Path]:
        """Of all that there ever were."""
        return sorted(self._folder.glob("worker-*.log"))
