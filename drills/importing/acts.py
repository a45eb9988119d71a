"""One import of everything after the other, while workers, their store and the provider come and go as planned."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from drills.importing.fleet import Fleet
from drills.importing.imports import Done, Importing, Watch
from drills.importing.mishaps import Mischief
from drills.importing.pace import Idleness, Sample
from drills.importing.plan import Moment, Plan
from drills.importing.provider import Provider
from drills.importing.requests import Request, asked_again
from drills.importing.stations import Stations
from drills.importing.talking import say
from drills.importing.view import View
from waypost.kernel.tasks import end

_CHANGE_SECONDS = 0.1
_WINDOW_SECONDS = 1.0


@dataclass
class Stage:
    store: str
    plan: Plan
    provider: Provider
    stations: Stations
    view: View
    fleet: Fleet
    mischief: Mischief
    importing: Importing
    idleness: Idleness = field(default_factory=Idleness)
    samples: list[Sample] = field(default_factory=list)
    # The reports of imports of windows.
    windows: list[Mapping[str, Any]] = field(default_factory=list)

    @asynccontextmanager
    async def changing_stations(self) -> AsyncIterator[None]:
        """While this lasts; afterwards they are at rest."""

        async def change() -> None:
            while True:
                self.stations.change()
                await asyncio.sleep(_CHANGE_SECONDS)

        changing = asyncio.create_task(change())
        try:
            yield
        finally:
            await end(changing)
            self.stations.settle()

    def held_up(self, requests: Sequence[Request]) -> Sequence[tuple[float, float]]:
        """When nobody could work at its pace: while the store was away or locked, or the provider until it is asked
        again.
        """
        mishaps = self.mischief.mishaps
        stuck = [(each.began, each.ended) for each in mishaps if each.kind == "restart" or each.blocks]
        return [*stuck, *((each.began, asked_again(each, requests)) for each in self.provider.absences)]

    def outages(self, number: int) -> list[tuple[Moment, Callable[[], Awaitable[None]]]]:
        """In the import of this number."""

        async def be_away() -> None:
            say(f"{self.store}: the provider goes away for {self.plan.away_seconds:g} s")
            await self.provider.be_away(self.plan.away_seconds)
            say(f"{self.store}: the provider is back")

        async def restart() -> None:
            await self.mischief.restart_the_store()
            say(f"{self.store}: the store was killed and is back" if self.mischief.has_server else "all were killed")

        planned = [(self.plan.absence, be_away), (self.plan.restart, restart)]
        return [(moment, happen) for moment, happen in planned if moment.number == number]


@dataclass(frozen=True)
class Act:
    number: int
    title: str
    has_windows: bool = False


async def play(stage: Stage, act: Act) -> Done:
    if stage.plan.absence.number == act.number:
        await stage.provider.prepare_to_go()
    began = time.monotonic()
    ids = await stage.importing.start_refresh()
    watched = list(ids.values())
    watch = Watch(f"{stage.store}, {act.title}", stage.view, watched, began + stage.plan.seconds)
    async with stage.mischief.at_large(), _windows(stage, watched, wanted=act.has_windows):
        await _until_done(stage, act, watch)
    # Windows that were started last.
    await watch.look()
    await watch.until_done()
    ended = time.monotonic()
    stage.windows += [await stage.view.report(each) for each in watched if each not in ids.values()]
    reports = {source: await stage.view.report(each) for source, each in ids.items()}
    requests = ", ".join(f"{report['requests']} requests of {source}" for source, report in reports.items())
    say(f"{stage.store}, {act.title}: done in {ended - began:.1f} s, {requests}")
    return Done(began, ended, reports)


async def _until_done(stage: Stage, act: Act, watch: Watch) -> None:
    """The outages of this act begin when their moment has come, and are over when this returns."""
    coming, under_way = stage.outages(act.number), list[asyncio.Task[None]]()
    try:
        while True:
            tally = await watch.look(f", {stage.mischief.count('kill')} killed, {stage.mischief.count('stop')} stopped")
            share = 1 - tally.unfinished / max(1, tally.total)
            for outage in [each for each in coming if each[0].share <= share]:
                coming.remove(outage)
                under_way.append(asyncio.ensure_future(outage[1]()))
            if watch.is_done and all(task.done() for task in under_way):
                break
            stage.samples.append(await _sample(stage, tally.unfinished))
            await watch.pause()
    finally:
        await end(*(task for task in under_way if not task.done()))
    for task in under_way:
        task.result()


async def _sample(stage: Stage, unfinished: int) -> Sample:
    at_work = {worker.name for worker in stage.fleet.at_work()}
    held = [job for job in await stage.view.held() if job.shard.startswith("ocm/")]
    lost = sum(job.owner not in at_work for job in held)
    return Sample(time.monotonic(), unfinished - lost, len(at_work), stage.idleness.since())


@asynccontextmanager
async def _windows(stage: Stage, watched: list[str], *, wanted: bool) -> AsyncIterator[None]:
    """Imports of one hour after the other, for as long as this lasts; what changes meanwhile has its time in it. The
    first has been started when this begins: a store that is away keeps others waiting, perhaps to the end.
    """
    if not wanted:
        yield
        return

    async def start_next() -> None:
        stage.stations.hour += 1
        watched.append(await stage.importing.start_window(stage.stations.hour))

    async def go_on() -> None:
        while True:
            await asyncio.sleep(_WINDOW_SECONDS)
            await start_next()

    await start_next()
    starting = asyncio.create_task(go_on())
    try:
        yield
    finally:
        await end(starting)
