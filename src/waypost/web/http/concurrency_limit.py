"""Expensive work: a bound on how much runs at once, and on how many callers wait; the others are sent away."""

import asyncio
from types import TracebackType

from waypost.kernel.errors import NotNow

_RETRY_SECONDS = 5.0


class TooManyAtOnce(NotNow):
    """Too many callers ask for the same work, and no more may wait."""

    http_status = 429


class ConcurrencyLimit:
    def __init__(self, at_once: int, *, waiting: int) -> None:
        self._turn = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self.inside = 0

    async def __aenter__(self) -> None:
        if self.inside >= self._most:
            raise TooManyAtOnce("too many ask for this at once; try again in a few seconds", retry_in=_RETRY_SECONDS)
        self.inside += 1
        try:
            await self._turn.acquire()
        except BaseException:
            self.inside -= 1
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.inside -= 1
        self._turn.release()
