"""The lease protocol with several clients at once: whatever they hear, some order of what they did explains it.

A seed repeats what each client chooses; `make chaos` runs many, and longer ones.
"""

import random
from pathlib import Path

import pytest

from support.leases.broken import BROKEN
from support.leases.checker import Broken
from support.leases.history import History
from support.leases.runs import Run
from support.leases.stages import STAGES, killed, memory
from waypost.adapters.memory.jobs import MemoryJobStore


def a_seed() -> int:
    return random.SystemRandom().randrange(1_000_000)


@pytest.mark.parametrize("name", STAGES)
def test_many_clients_at_once_break_no_law(name: str, tmp_path: Path) -> None:
    with STAGES[name](tmp_path) as stage:
        assert_something_was_tried(Run(a_seed()).on(stage))


@pytest.mark.parametrize("name", ["postgres", "mongodb", "redis"])
def test_a_store_that_is_killed_and_comes_back_has_lost_nothing_it_acknowledged(name: str) -> None:
    with killed(name) as stage:
        assert_something_was_tried(Run(a_seed(), restarts=1).on(stage))


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


def assert_something_was_tried(history: History) -> None:
    """That nobody was refused, or nobody heard, would mean that the clients did not meet."""
    heard = {(each.asked, each.answer) for each in history.operations}
    wanted = {("claim", "yes"), ("checkpoint", "yes"), ("complete", "lost"), ("renew", "lost"), ("prune", "yes")}
    assert wanted <= heard
