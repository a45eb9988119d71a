"""A job store as tests have it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from waypost.scaling.jobs.store import JobStore


@dataclass(frozen=True)
class JobBackend:
    """A clean job store, and what only a test may do to it."""

    jobs: JobStore
    # Back-dates lease ends, due times and ends, as if so many seconds had passed: nobody injects a clock into a store.
    age: Callable[[float], Awaitable[None]]
    # Another connection to the same store, as another process has it.
    open_again: Callable[[], AbstractAsyncContextManager[JobStore]]
