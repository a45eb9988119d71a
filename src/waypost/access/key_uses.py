"""When keys were last used: noted in memory with each request, and written once a minute, so that no request waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from waypost.access.store import KeyStore
from waypost.kernel.errors import WaypostError
from waypost.kernel.tasks import background
from waypost.telemetry.logs import get_logger

log = get_logger("access")

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
        """What cannot be written is tried again the next time."""
        noted, self._noted = self._noted, {}
        if not noted:
            return
        try:
            await self._store.note_uses(noted)
        except BaseException as error:
            self._noted = noted | self._noted
            if not isinstance(error, WaypostError):
                raise
            log.warning("the last uses of keys could not be written", error=error.slug, message=str(error))

    @asynccontextmanager
    async def written(self) -> AsyncIterator[None]:
        """Writes them now and then, and once more at the end."""
        async with background(self._keep_writing()):
            yield
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await self.write()
        except TimeoutError:
            log.warning("the last uses of keys were not written in time")

    async def _keep_writing(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN)
            await self.write()
