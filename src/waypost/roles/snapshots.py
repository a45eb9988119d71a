"""Builds a snapshot of all places in the store or in files, in this process or in several."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from waypost.bootstrap.snapshots import file_parts
from waypost.bootstrap.stores import Stores
from waypost.importing.licences import licences_of
from waypost.kernel.clock import utc_now
from waypost.kernel.cores import available_cores
from waypost.places.file_part import FilePart
from waypost.places.store import Part
from waypost.roles.kit.build_pool import Builders
from waypost.roles.kit.build_process import Builder, Do, Read, Task
from waypost.serving.building.bench import Bench
from waypost.serving.building.builder import MEMORY, SnapshotBuilder
from waypost.serving.format import Manifest, Section
from waypost.serving.shelf import Shelf
from waypost.settings import Settings

Result = TypeVar("Result")
OnProgress = Callable[[int], None]

# A process takes half a second to start, in which another one reads some ten thousand places.
_PLACES_A_PROCESS = 50_000
# Of a place in a file, about: who has little to read needs no help.
_BYTES_A_PLACE = 400
# More parts than processes: whoever is done early takes another one.
_PARTS_A_PROCESS = 4


@dataclass(frozen=True)
class Means:
    """How many processes a build has, how many bytes of places all of them hold at once, and how many places come."""

    processes: int = 1
    memory: int = MEMORY
    places: int | None = None

    @classmethod
    def choose(cls, processes: int | None = None, memory: int | None = None, places: int | None = None) -> "Means":
        """As asked for; else as many processes as there are cores, but none that would only look on."""
        most = available_cores() if places is None else min(available_cores(), places // _PLACES_A_PROCESS)
        return cls(processes or max(1, most), memory or MEMORY, places)


async def build_snapshot(
    settings: Settings, stores: Stores, on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Of what is in the store. Published when it is whole; generations beyond the number to keep go afterwards."""
    means = means or Means()
    attribution = {name: licence.sentence for name, licence in (await licences_of(stores.facts)).items()}
    parts = await stores.places.parts(1 if means.processes == 1 else means.processes * _PARTS_A_PROCESS)
    return await _Build(settings, means, attribution, on_progress, stores).run(parts)


def guess_places(files: Sequence[Path]) -> int:
    """How many there may be in files; those that are not there are told of when they are opened."""
    return sum(path.stat().st_size for path in files if path.is_file()) // _BYTES_A_PLACE


async def build_from_files(
    settings: Settings, files: Sequence[Path], on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Of what is in files; no store is needed, and nothing is known about whom to name."""
    means = means or Means()
    parts = [part for path in files for part in await asyncio.to_thread(file_parts, path, means.processes)]
    return await _Build(settings, means, {}, on_progress).run(parts)


class _Build:
    def __init__(
        self,
        settings: Settings,
        means: Means,
        attribution: Mapping[str, str],
        on_progress: OnProgress | None,
        stores: Stores | None = None,
    ) -> None:
        self._settings = settings
        self._means = means
        self._attribution = attribution
        self._on_progress = on_progress
        self._stores = stores
        self._read = 0

    async def run(self, parts: Sequence[Part | FilePart]) -> Manifest:
        manifest = await (self._alone(parts) if self._means.processes == 1 else self._together(parts))
        await asyncio.to_thread(Shelf(self._settings.snapshots).prune, self._settings.serving.keep)
        return manifest

    async def _alone(self, parts: Sequence[Part | FilePart]) -> Manifest:
        reader = Builder(self._settings, self._stores)
        with SnapshotBuilder(
            self._settings.snapshots, attribution=self._attribution, memory=self._means.memory
        ) as builder:
            for part in parts:
                async for batch in reader.batches(part):
                    await _to_its_end(partial(builder.add, batch))
                    self._count(len(batch))
            return await _to_its_end(lambda: builder.publish(utc_now()))

    async def _together(self, parts: Sequence[Part | FilePart]) -> Manifest:
        bench = Bench(self._settings.snapshots, self._attribution)
        try:
            with bench.telling():
                place = str(await _to_its_end(lambda: bench.place))
                async with Builders(self._settings, self._means.processes) as builders:
                    memory = self._means.memory // self._means.processes
                    reading = [Task(place, Read(part, f"part{at}", memory)) for at, part in enumerate(parts)]

                    def on_count(places: int) -> None:
                        self._count(places)
                        bench.part_read = min(1.0, self._read / (self._means.places or self._read))

                    for done in await builders.do(reading, on_count):
                        bench.runs += done.runs
                    bench.part_read = 1.0
                    sections = await self._compose(bench, builders)
                return await _to_its_end(lambda: bench.publish(sections, utc_now()))
        finally:
            bench.clear()

    async def _compose(self, bench: Bench, builders: Builders) -> tuple[Section, ...]:
        stages = bench.compose(processes=self._means.processes, memory=self._means.memory)
        place = str(bench.place)
        try:
            steps = next(stages)
            while True:
                done = await builders.do([Task(place, Do(step)) for step in steps], self._count)
                steps = stages.send([each.section for each in done])
        except StopIteration as end:
            sections: tuple[Section, ...] = end.value
            return sections

    def _count(self, places: int) -> None:
        self._read += places
        if self._on_progress:
            self._on_progress(self._read)


async def _to_its_end(work: Callable[[], Result]) -> Result:
    """A thread cannot be broken off. When we are, what it works on must not go away below it."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
