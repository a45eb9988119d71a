"""Watches for snapshots: a process serves the current generation, and the next one once it is there."""

import asyncio
import gc

from waypost.kernel.errors import WaypostError
from waypost.scaling.repeating import repeat
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import SNAPSHOT_OPENED, SNAPSHOT_PLACES
from waypost.web.app import Places

log = get_logger("serve")

_LOOK_SECONDS = 1.0


class SnapshotWatcher:
    """Keeps the current generation open, and moves to a new one between two requests."""

    def __init__(self, settings: Settings) -> None:
        self.live = LiveGeneration(Shelf(settings.snapshots))
        self.part = Places(
            self.live,
            settings.serving.box_limit,
            public_url=settings.web.public_url,
            cors=settings.web.cors,
            closed=not settings.web.places_open,
        )
        self._wrong: WaypostError | None = None

    async def look(self) -> None:
        """Open what is current now. A generation that cannot be opened leaves the old one in service."""
        try:
            if await asyncio.to_thread(self.live.refresh):
                SNAPSHOT_OPENED.labels("ok").inc()
                SNAPSHOT_PLACES.set(self.live.generation.count)
                log.info(
                    "serving a generation", generation=self.live.generation.name, places=self.live.generation.count
                )
                # The map stays; garbage collections should not go through what was made to open it.
                gc.collect()
                gc.freeze()
            self._wrong = None
        except WaypostError as error:
            if str(error) != str(self._wrong):
                SNAPSHOT_OPENED.labels("error").inc()
                log.error("the current generation cannot be opened", error=error.slug, message=str(error))  # noqa: TRY400 - expected, and told
            self._wrong = error

    async def keep_looking(self) -> None:
        await repeat(self.look, _LOOK_SECONDS, log=log, failing="new generations are not looked for")

    async def probe(self) -> str | None:
        """Ready as long as there is something to serve: one broken generation must not take a whole fleet away."""
        if not self.live.is_open and self._wrong:
            raise self._wrong
        generation = self.live.generation
        return f"still serving {generation.name}: {self._wrong.outside}" if self._wrong else None
