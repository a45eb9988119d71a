"""A child process of a snapshot's build: it does the tasks that its parent writes to its standard input.

Each task is a line of JSON, and so is each answer: now and then how many places have been read, and at the end what
came of the task. The process ends when there is nothing more to read, and with its parent.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from waypost.bootstrap.snapshots import read_file_part
from waypost.bootstrap.stores import Stores, open_stores
from waypost.kernel.errors import WaypostError
from waypost.places.place import Place
from waypost.places.store import FilePart, Part
from waypost.roles.kit.child_process import end_with
from waypost.serving.build import Do, Read, Task, TaskDone
from waypost.serving.building.runs import RunWriter
from waypost.serving.building.sections import perform
from waypost.settings import Settings, load_settings
from waypost.telemetry.logs import configure_logs


class PlacesRead(msgspec.Struct, frozen=True, tag=True):
    """Places read since the last answer."""

    places: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """An error of ours, by the name of its class."""

    kind: str
    message: str
    next_step: str | None


class Impossible(msgspec.Struct, frozen=True, tag=True):
    """An error of the operating system."""

    number: int
    reason: str


Answer = PlacesRead | TaskDone | Refused | Impossible
_task = msgspec.json.Decoder(Task)


class PartReader:
    """Reads parts of the store or of files. The store is opened with its first part, unless it is open already."""

    def __init__(self, settings: Settings, stores: Stores | None = None) -> None:
        self._settings = settings
        self._stores = stores
        self._stack = AsyncExitStack()

    async def close(self) -> None:
        await self._stack.aclose()

    async def batches(self, part: Part | FilePart) -> AsyncIterator[Sequence[Place]]:
        if isinstance(part, Part):
            if self._stores is None:
                self._stores = await self._stack.enter_async_context(open_stores(self._settings, must_exist=True))
            async for batch in self._stores.places.scan(part=part):
                yield batch
        else:
            for places in read_file_part(part, self._settings):
                yield places


async def do(task: Task, reader: PartReader, on_count: Callable[[int], None]) -> TaskDone:
    match task.work:
        case Do(step):
            return TaskDone(section=perform(step, Path(task.place)))
        case Read(part, name, memory):
            writer = RunWriter(Path(task.place), name, memory)
            async for batch in reader.batches(part):
                writer.add(batch)
                on_count(len(batch))
            writer.flush()
            return TaskDone(runs=tuple(writer.runs))


async def answer(settings: Settings) -> None:
    reader = PartReader(settings)
    try:
        for line in sys.stdin.buffer:
            try:
                _say(await do(_task.decode(line), reader, lambda places: _say(PlacesRead(places))))
            except WaypostError as error:
                _say(Refused(type(error).__qualname__, str(error), error.next_step))
            except OSError as error:
                _say(Impossible(error.errno or 0, error.strerror or str(error)))
    finally:
        await reader.close()


def _say(answered: Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answered) + b"\n")
    sys.stdout.buffer.flush()


def main(parent: str, config: str = "") -> None:
    # Ctrl-C reaches all processes of a terminal; our parent decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(int(parent))
    settings = load_settings({}, file=config or None)
    configure_logs(settings.telemetry.level)
    try:
        asyncio.run(answer(settings))
    except BrokenPipeError:
        # The parent is gone: there is no one to answer, not even at exit.
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
