"""Budget records in memory, for tests that need no other."""

import time
from collections.abc import Callable, Sequence

from waypost.scaling.ratelimit.record_budget_store import Change, Result


def _machine_clock() -> int:
    return time.time_ns() // 1000


class MemoryBudgetRecords:
    def __init__(self, clock: Callable[[], int] = _machine_clock) -> None:
        self._clock = clock
        self._texts: dict[str, bytes] = {}

    async def change(self, names: Sequence[str], change: Change[Result]) -> Result:
        texts, result = change([self._texts.get(name) for name in names], self._clock())
        self._texts |= zip(names, texts, strict=True)
        return result

    async def read(self, names: Sequence[str]) -> tuple[Sequence[bytes | None], int]:
        return [self._texts.get(name) for name in names], self._clock()
