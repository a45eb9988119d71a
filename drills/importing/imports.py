"""Starting an import as a person does, and waiting for others to finish it."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drills.importing.mishaps import Mischief
from drills.importing.programs import ProgramFailed, run
from drills.importing.talking import say
from drills.importing.view import View
from waypost.simulator.geography import COUNTRIES

_LOOK_SECONDS = 0.25
_SAY_SECONDS = 5.0
# The first request of an import may meet a fault as any other does; a person would give the command again.
_TRIES = 10


class TooLong(Exception):
    """An import did not end within the time that it was given."""


@dataclass(frozen=True)
class Done:
    """An import that has ended: when, on the monotonic clock, and its report."""

    id: str
    began: float
    ended: float
    report: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        return self.ended - self.began


async def import_everything(
    title: str, folder: Path, env: Mapping[str, str], view: View, mischief: Mischief, *, seconds: float
) -> Done:
    """A refresh of all countries, while workers are killed and stopped."""
    began = time.monotonic()
    import_id = await _start(folder, env)
    async with mischief.at_large():
        await _end_of(title, import_id, view, mischief, until=began + seconds)
    ended = time.monotonic()
    report = json.loads(await run(folder, "import", "report", import_id, "--json", env=env))
    say(f"{title}: done in {ended - began:.1f} s, {report['requests']} requests")
    return Done(import_id, began, ended, report)


async def _start(folder: Path, env: Mapping[str, str]) -> str:
    countries = ",".join(country.code for country in COUNTRIES)
    for attempt in range(1, _TRIES + 1):
        try:
            started = await run(folder, "import", "start", "--refresh", "--country", countries, "--json", env=env)
            return str(json.loads(started)["id"])
        except ProgramFailed as failure:
            if attempt == _TRIES or "provider" not in str(failure):
                raise
            say(f"once more: {failure}")
    raise AssertionError("the last try has returned or raised")


async def _end_of(title: str, import_id: str, view: View, mischief: Mischief, *, until: float) -> None:
    say_at = time.monotonic() + _SAY_SECONDS
    while (tally := await view.tally(import_id)).unfinished:
        now = time.monotonic()
        stands = (
            f"{title}: {tally.total - tally.unfinished} of {tally.total} shards,"
            f" {mischief.count('kill')} killed, {mischief.count('stop')} stopped"
        )
        if now > until:
            raise TooLong(f"not done in time: {stands}")
        if now > say_at:
            say(stands)
            say_at = now + _SAY_SECONDS
        await asyncio.sleep(_LOOK_SECONDS)
