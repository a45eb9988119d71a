"""Starting imports as a person does, and waiting for others to finish them."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drills.importing.programs import ProgramFailed, run
from drills.importing.stations import COUNTRIES as STATION_COUNTRIES
from drills.importing.stations import SOURCE, window
from drills.importing.talking import say
from drills.importing.view import View
from drills.series import TooLong
from waypost.scaling.jobs.job import Tally
from waypost.simulator.geography import COUNTRIES

_SAY_SECONDS = 5.0
LOOK_SECONDS = 0.25
# The first request of an import may meet a fault as any other does; a person would give the command again.
_TRIES = 20


@dataclass(frozen=True)
class Done:
    """Imports of everything that have ended: when, on the monotonic clock, and their reports by source."""

    began: float
    ended: float
    reports: Mapping[str, Mapping[str, Any]]

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class Importing:
    """The commands, in the folder and with the settings of the drill."""

    folder: Path
    env: Mapping[str, str]

    async def start_refresh(self) -> Mapping[str, str]:
        """Of everything, from both providers: the ids of the imports, by source."""
        wanted = {"ocm": [country.code for country in COUNTRIES], SOURCE: STATION_COUNTRIES}
        started = await asyncio.gather(
            *(
                self._start("--source", source, "--refresh", "--country", ",".join(codes))
                for source, codes in wanted.items()
            )
        )
        return dict(zip(wanted, started, strict=True))

    async def start_window(self, hour: int) -> str:
        since, until = window(hour)
        asked = ("--since", since, "--until", until, "--window", "1h", "--country", ",".join(STATION_COUNTRIES))
        return await self._start("--source", SOURCE, *asked)

    async def _start(self, *asked: str) -> str:
        for attempt in range(1, _TRIES + 1):
            try:
                started = await run(self.folder, "import", "start", *asked, "--json", env=self.env)
                return str(json.loads(started)["id"])
            except ProgramFailed as failure:
                if attempt == _TRIES or not any(word in str(failure) for word in ("provider", "store")):
                    raise
                say(f"once more: {failure}")
        raise AssertionError("the last try has returned or raised")


class Watch:
    """Looks at how imports stand, again and again, and says so. Others may be added to `ids`."""

    def __init__(self, title: str, view: View, ids: Sequence[str], until: float) -> None:
        self._title = title
        self._view = view
        self._ids = ids
        self._until = until
        self._say_at = time.monotonic() + _SAY_SECONDS
        self.is_done = False

    async def look(self, more: str = "") -> Tally:
        """Of the first one. Raises TooLong."""
        now = time.monotonic()
        tallies = [await self._view.tally(each) for each in self._ids]
        unfinished, total = (sum(getattr(each, name) for each in tallies) for name in ("unfinished", "total"))
        stands = f"{self._title}: {total - unfinished} of {total} shards{more}"
        if now > self._until:
            raise TooLong(f"not done in time: {stands}")
        if now > self._say_at:
            say(stands)
            self._say_at = now + _SAY_SECONDS
        self.is_done = not unfinished
        return tallies[0]

    async def until_done(self) -> None:
        while not self.is_done:
            await self.look()
            await self.pause()

    async def pause(self) -> None:
        await asyncio.sleep(LOOK_SECONDS)
