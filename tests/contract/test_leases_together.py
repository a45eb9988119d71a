"""The lease protocol with several clients at once: whatever they hear, some order of what they did explains it.

A seed repeats what each client chooses; `make chaos` runs many, and longer ones.
"""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.leases.broken import BROKEN
from support.leases.checker import Broken
from support.leases.runs import Run, Stage
from support.leases.stages import STAGES, killed, memory
from support.memory_jobs import MemoryJobStore

# Had nobody been refused, or nobody heard, the clients would not have met.
MEETING = {("claim", "yes"), ("checkpoint", "yes"), ("complete", "lost"), ("renew", "lost"), ("prune", "yes")}


def meet(set_up: Callable[[int], AbstractContextManager[Stage]], *, restarts: int = 0) -> None:
    """With one seed after the other, each on a store of its own: some are so short that not everything happens."""
    heard: set[tuple[str, str]] = set()
    for number in range(10):
        with set_up(number) as stage:
            history = Run(random.SystemRandom().randrange(1_000_000), restarts=restarts).on(stage)
        heard |= {(each.asked, each.answer) for each in history.operations}
        if heard >= MEETING:
            return
    raise AssertionError(f"this never happened: {MEETING - heard}")


@pytest.mark.parametrize("name", STAGES)
def test_many_clients_at_once_break_no_law(name: str, tmp_path: Path) -> None:
    def set_up(number: int) -> AbstractContextManager[Stage]:
        folder = tmp_path / str(number)
        folder.mkdir()
        return STAGES[name](folder)

    meet(set_up)


@pytest.mark.parametrize("name", ["postgres", "mongodb", "redis"])
def test_a_store_that_is_killed_and_comes_back_has_lost_nothing_it_acknowledged(name: str) -> None:
    meet(lambda _number: killed(name), restarts=1)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_store_with_a_defect_is_found_out(broken: type[MemoryJobStore], tmp_path: Path) -> None:
    def is_found_out(seed: int) -> bool:
        with memory(tmp_path, broken) as stage:
            try:
                Run(seed).on(stage)
            except Broken:
                return True
        return False

    assert any(map(is_found_out, range(20)))
