"""When keys were last used: noted in memory with each request, and written once a minute, so that no request waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from waypost.access.store import KeyStore
from waypost.kernel.errors import WaypostError
from waypost.kernel.tasks import background
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

log = get_logger("access")

_FAILING = "the last uses of keys are not written for now"
_SECONDS_BETWEEN = 60.0
_LAST_SECONDS = 5.0


class KeyUses:
    """Of a process. Only keys that were recognised are noted, so that there are no more than the store has."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._noted: dict[str, datetime] = {}

    def note(self, id: str, now: datetime) -> None:  # noqa: A002 - it is what it is
        self._noted[id] = now

    async def write(self) -> None:
        """Raises what the store raises; what could not be written is tried again the next time."""
        noted, self._noted = self._noted, {}
        if not noted:
            return
        try:
            await self._store.note_uses(noted)
        except BaseException:
            self._noted = noted | self._noted
            raise

    @asynccontextmanager
    async def written(self) -> AsyncIterator[None]:
        """Writes them now and then, and once more at the end."""
        writing = repeat(self.write, _SECONDS_BETWEEN, log=log, failing=_FAILING, at_once=False)
        async with background(writing):
            yield
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await self.write()
        except (TimeoutError, WaypostError) as error:
            log.warning(_FAILING, message=str(error) or "there was no answer in time")
