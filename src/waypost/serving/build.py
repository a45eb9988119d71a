"""Builds a snapshot from parts of a store or of files, in this process or in several; and what each of those does."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from waypost.kernel.clock import utc_now
from waypost.kernel.cores import available_cores
from waypost.places.place import Place
from waypost.places.store import FilePart, Part
from waypost.serving.building.builder import MEMORY, Bench, SnapshotBuilder
from waypost.serving.building.runs import Run
from waypost.serving.building.sections import Step
from waypost.serving.format import Manifest, Section
from waypost.serving.shelf import Shelf

Result = TypeVar("Result")
OnProgress = Callable[[int], None]

# A process takes half a second to start, in which another one reads some ten thousand places.
_PLACES_A_PROCESS = 50_000
# The rough size of a place in a file: a build with little to read needs no other processes.
_BYTES_A_PLACE = 400
# More parts than processes: a process that is done early takes another one.
_PARTS_A_PROCESS = 4


class Read(msgspec.Struct, frozen=True, tag=True):
    """Read a part of the store or of a file, and write it to runs in the workplace whose names begin with `name`."""

    part: Part | FilePart
    name: str
    memory: int


class Do(msgspec.Struct, frozen=True, tag=True):
    step: Step


class Task(msgspec.Struct, frozen=True):
    place: str
    work: Read | Do


class TaskDone(msgspec.Struct, frozen=True, tag=True):
    runs: tuple[Run, ...] = ()
    section: Section | None = None


@dataclass(frozen=True)
class Means:
    """How many processes a build has, how many bytes of places they hold in all, and how many places to expect."""

    processes: int = 1
    memory: int = MEMORY
    places: int | None = None

    @classmethod
    def choose(cls, processes: int | None = None, memory: int | None = None, places: int | None = None) -> "Means":
        """Takes what was asked for; by default one process a core, but none that would have nothing to do."""
        most = available_cores() if places is None else min(available_cores(), places // _PLACES_A_PROCESS)
        return cls(processes or max(1, most), memory or MEMORY, places)

    @property
    def parts(self) -> int:
        """The best number of parts to cut a store into."""
        return 1 if self.processes == 1 else self.processes * _PARTS_A_PROCESS


def guess_places(files: Sequence[Path]) -> int:
    """Estimates how many places files have; a missing file is reported later, when it is opened."""
    return sum(path.stat().st_size for path in files if path.is_file()) // _BYTES_A_PLACE


class BuildPool(Protocol):
    """Processes that do tasks: each task goes to a free process."""

    async def do(self, tasks: Sequence[Task], on_count: Callable[[int], None]) -> list[TaskDone]:
        """Returns the result of each task, in order; `on_count` is called with the number of places just read."""


@dataclass
class SnapshotBuild:
    """One build into a folder of generations, published when it is whole; then generations beyond `keep` are removed.

    `read` yields the places of a part in this process, and `open_pool` starts the given number of other processes.
    """

    folder: Path
    keep: int
    read: Callable[[Part | FilePart], AsyncIterator[Sequence[Place]]]
    open_pool: Callable[[int], AbstractAsyncContextManager[BuildPool]]
    means: Means = field(default_factory=Means)
    attribution: Mapping[str, str] = field(default_factory=dict)
    on_progress: OnProgress | None = None
    _counted: int = 0

    async def run(self, parts: Sequence[Part | FilePart]) -> Manifest:
        manifest = await (self._alone(parts) if self.means.processes == 1 else self._together(parts))
        await asyncio.to_thread(Shelf(self.folder).prune, self.keep)
        return manifest

    async def _alone(self, parts: Sequence[Part | FilePart]) -> Manifest:
        with SnapshotBuilder(self.folder, attribution=self.attribution, memory=self.means.memory) as builder:
            for part in parts:
                async for batch in self.read(part):
                    await _to_its_end(partial(builder.add, batch))
                    self._count(len(batch))
            return await _to_its_end(lambda: builder.publish(utc_now()))

    async def _together(self, parts: Sequence[Part | FilePart]) -> Manifest:
        bench = Bench(self.folder, self.attribution)
        try:
            with bench.telling():
                place = str(await _to_its_end(lambda: bench.place))
                async with self.open_pool(self.means.processes) as pool:
                    memory = self.means.memory // self.means.processes
                    reading = [Task(place, Read(part, f"part{at}", memory)) for at, part in enumerate(parts)]

                    def on_count(places: int) -> None:
                        self._count(places)
                        bench.part_read = min(1.0, self._counted / (self.means.places or self._counted))

                    for done in await pool.do(reading, on_count):
                        bench.runs += done.runs
                    bench.part_read = 1.0
                    sections = await self._compose(bench, pool)
                return await _to_its_end(lambda: bench.publish(sections, utc_now()))
        finally:
            bench.clear()

    async def _compose(self, bench: Bench, pool: BuildPool) -> tuple[Section, ...]:
        stages = bench.compose(processes=self.means.processes, memory=self.means.memory)
        place = str(bench.place)
        try:
            steps = next(stages)
            while True:
                done = await pool.do([Task(place, Do(step)) for step in steps], self._count)
                steps = stages.send([each.section for each in done])
        except StopIteration as end:
            sections: tuple[Section, ...] = end.value
            return sections

    def _count(self, places: int) -> None:
        self._counted += places
        if self.on_progress:
            self.on_progress(self._counted)


async def _to_its_end(work: Callable[[], Result]) -> Result:
    """Runs work in a thread and, even when cancelled, waits for its end: a thread cannot be interrupted, and its files
    must not be removed while it works.
    """
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait({working})
        raise
