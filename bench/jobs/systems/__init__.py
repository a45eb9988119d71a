"""The job queues that are compared, each in its fastest documented form.

Each runs in a process of its own, whose Python has the queue's package; so nothing here imports another system.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol, cast

SYSTEMS = ("waypost", "floor", "pgqueuer", "procrastinate", "oban")


class System(Protocol):
    """One queue on the database behind a URL."""

    async def install(self) -> None:
        """Make its tables. The process that does that does nothing else."""
        ...

    async def open(self) -> None: ...

    async def enqueue(self, count: int) -> None:
        """So many no-op jobs, in one call."""
        ...

    async def is_finished(self) -> bool:
        """Whether no job is left to do."""
        ...

    async def work(self, on_start: Callable[[], None]) -> None:
        """Do jobs until cancelled; the handler calls `on_start` and does nothing else."""
        ...


def load(name: str, url: str) -> System:
    module = import_module(f"bench.jobs.systems.{name}")
    return cast("System", module.make(url))
