"""Those who read a snapshot: how soon they are ready, what memory is theirs, and that they share the rest."""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.places.load import Deck, touch
from bench.places.memory import Memory, memory_of
from bench.places.questions import Question
from bench.places.systems import Stock
from bench.places.systems.starting import plain_environ
from bench.places.systems.waypost import PATHS, serve

_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Readers:
    """Seconds in the middle of several times, and the memory of each of several servers of the same snapshot."""

    open_seconds: float
    start_seconds: float
    memories: tuple[Memory, ...]

    @property
    def copies(self) -> float:
        """The snapshot's pages that all have together, to those that one has: 1 when there is one copy for all."""
        return sum(each.mapped_shares for each in self.memories) / max(each.mapped for each in self.memories)


def measure_readers(stock: Stock, asked: Sequence[Question], *, count: int, times: int, core: int) -> Readers:
    opened = median(_open(stock) for _ in range(times))
    starts, running = [], []
    with ExitStack() as stack:
        for _ in range(count):
            began = time.monotonic()
            running.append(stack.enter_context(serve(stock, core)))
            starts.append(time.monotonic() - began)
        for each in running:
            for kind in ("by id", "box of 100", "nearest 10"):
                deck = Deck(each.url, [PATHS[kind](question) for question in asked])
                touch(deck, len(asked), core=core)
        memories = [memory_of(each.pid, stock.snapshots) for each in running]
    return Readers(opened, median(starts), tuple(memories))


def _open(stock: Stock) -> float:
    command = [sys.executable, "-m", "bench.places.programs.opening", str(stock.snapshots / "snapshots")]
    env = plain_environ(PYTHONPATH=str(_ROOT))
    return float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
