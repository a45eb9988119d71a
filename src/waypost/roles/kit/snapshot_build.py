"""Building a snapshot from what is configured: from the store or from files, in this process or in child processes."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from waypost.bootstrap.snapshots import file_parts
from waypost.bootstrap.stores import Stores
from waypost.kernel.errors import TerminalError, WaypostError
from waypost.kernel.tasks import end
from waypost.places.licence import licences_of
from waypost.roles.kit.build_child import Answer, Impossible, PartReader, PlacesRead, Refused
from waypost.roles.kit.child_process import environ_of
from waypost.serving.build import Means, OnProgress, SnapshotBuild, Task, TaskDone
from waypost.serving.format import Manifest, SnapshotNotWritten
from waypost.settings import Settings

# An answer names all runs that a task has written.
_LONGEST_ANSWER = 1 << 26
# Large blocks go back to the system when they are freed, and not into a heap that only grows (glibc).
_GIVING_BACK = {"MALLOC_MMAP_THRESHOLD_": str(1 << 20), "MALLOC_TRIM_THRESHOLD_": str(1 << 20)}
_answer: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


class BuildProcesses:
    """`size` processes, which run from entering the context to leaving it."""

    def __init__(self, settings: Settings, size: int) -> None:
        self._command = [sys.executable, "-m", "waypost.roles.kit.build_child", str(os.getpid())]
        self._command += [str(settings.file)] if settings.file else []
        self._environ = environ_of(settings) | _GIVING_BACK
        self._size = size
        self._processes: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> Self:
        try:
            for _ in range(self._size):
                self._processes.append(await self._start())
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def do(self, tasks: Sequence[Task], on_count: Callable[[int], None]) -> list[TaskDone]:
        """Returns the results in the order of the tasks. The first task that fails ends all, finished or not."""
        waiting, done = iter(enumerate(tasks)), dict[int, TaskDone]()
        members = [
            asyncio.create_task(self._member(process, waiting, done, on_count))
            for process in self._processes[: len(tasks)]
        ]
        try:
            await asyncio.gather(*members)
        finally:
            await end(*members)
        return [done[number] for number in range(len(tasks))]

    async def _member(
        self,
        process: asyncio.subprocess.Process,
        waiting: Iterator[tuple[int, Task]],
        done: dict[int, TaskDone],
        on_count: Callable[[int], None],
    ) -> None:
        for number, task in waiting:
            done[number] = await _ask(process, task, on_count)

    async def _start(self) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command,
            env=self._environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_ANSWER,
        )

    async def _end(self) -> None:
        """Kills the processes: they need no time to clean up, since the workplace's owner removes what they leave."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
        for process in self._processes:
            await process.wait()


async def _ask(process: asyncio.subprocess.Process, task: Task, on_count: Callable[[int], None]) -> TaskDone:
    assert process.stdin
    assert process.stdout
    with suppress(ConnectionError):  # then no answer comes either, and how the process ended tells more
        process.stdin.write(msgspec.json.encode(task) + b"\n")
        await process.stdin.drain()
    while line := await process.stdout.readline():
        match _answer.decode(line):
            case PlacesRead(places):
                on_count(places)
            case TaskDone() as done:
                return done
            case Refused() as refused:
                raise _error(refused)
            case Impossible(number, reason):
                raise OSError(number, reason)
    code = await process.wait()
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}; the reason is told above"
    raise SnapshotNotWritten(f"a process of the build {how}", next_step="waypost snapshot build --memory 64m")


def _error(refused: Refused) -> WaypostError:
    """The error of the child process: the same class, the same message."""
    kind = next((each for each in _descendants(WaypostError) if each.__qualname__ == refused.kind), TerminalError)
    error = kind.__new__(kind)
    WaypostError.__init__(error, refused.message, next_step=refused.next_step)
    return error


def _descendants(kind: type[WaypostError]) -> Iterator[type[WaypostError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _descendants(each)


async def build_snapshot(
    settings: Settings, stores: Stores, on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Builds a snapshot of the places in the store."""
    means = means or Means()
    attribution = {name: licence.sentence for name, licence in (await licences_of(stores.facts)).items()}
    build = _build(settings, PartReader(settings, stores), means, attribution, on_progress)
    return await build.run(await stores.places.parts(means.parts))


async def build_from_files(
    settings: Settings, files: Sequence[Path], on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Builds a snapshot of the places in files; it needs no store, and has no attribution."""
    means = means or Means()
    parts = [part for path in files for part in await asyncio.to_thread(file_parts, path, means.processes)]
    return await _build(settings, PartReader(settings), means, {}, on_progress).run(parts)


def _build(
    settings: Settings,
    reader: PartReader,
    means: Means,
    attribution: Mapping[str, str],
    on_progress: OnProgress | None,
) -> SnapshotBuild:
    return SnapshotBuild(
        settings.snapshots,
        settings.serving.keep,
        reader.batches,
        partial(BuildProcesses, settings),
        means,
        attribution,
        on_progress,
    )
