"""Builds a generation from places and publishes it; the same places give the same bytes in any order.

Places become rows; as many as memory may hold are sorted and written to a run; the runs are merged into sections; these
are published. Here everything happens in one thread; a build with several processes shares out the steps.
"""

import errno
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from waypost.places.place import Place
from waypost.serving import format as layout
from waypost.serving.building.runs import RunWriter
from waypost.serving.building.sections import Stages, compose, perform_all
from waypost.serving.durable import sync_folder, write_file
from waypost.serving.format import LISTS, Manifest, Section, SnapshotBroken, SnapshotNotWritten, SnapshotTooNew
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import Shelf

if TYPE_CHECKING:
    from waypost.serving.building.runs import Run

# About how many bytes of rows all processes of a build hold at once.
MEMORY = 256 * 1024 * 1024
_BATCH = 1000


class Bench:
    """A workplace, made when the first place arrives and removed by `clear` unless it was published.

    `attribution` says, by source, whom to name where its places are shown.
    """

    def __init__(self, folder: Path, attribution: Mapping[str, str] | None = None) -> None:
        self.runs: list[Run] = []
        # The share of all places that has been read.
        self.part_read = 1.0
        self._shelf = Shelf(folder)
        self._attribution = attribution or {}
        self._stack = ExitStack()
        self._place: Path | None = None

    @property
    def place(self) -> Path:
        if self._place is None:
            self._place = self._stack.enter_context(self._shelf.workplace())
        return self._place

    def clear(self) -> None:
        self._stack.close()
        self._place = None
        self.runs = []

    def compose(self, *, processes: int, memory: int) -> Stages:
        return compose(self.place, self.runs, processes=processes, memory=memory)

    def publish(self, sections: tuple[Section, ...], now: datetime) -> Manifest:
        """Publishes the sections as the current generation, unless the current one has the same content."""
        manifest = self._manifest(sections, now)
        write_file(self.place / layout.MANIFEST, [layout.encode_manifest(manifest)])
        sync_folder(self.place)
        with self._shelf.changing():
            same = self._same(manifest)
            if same is None:
                self._shelf.publish(self.place, manifest.generation)
        return same or manifest

    @contextmanager
    def telling(self, held: Callable[[], int] = lambda: 0) -> Iterator[None]:
        """Reports a refusal by the disk with the space needed: the runs, and about as much again for the sections.

        `held` returns the bytes that are not in runs yet.
        """
        try:
            yield
        except OSError as error:
            needed = 2 * round((self._written() + held()) / self.part_read)
            self.clear()
            raise _not_written(self._shelf.folder, needed, error) from error

    def _written(self) -> int:
        """The bytes of all runs, even unfinished ones."""
        if self._place is None:
            return 0
        sizes = [path.stat().st_size for path in self._place.glob("*.run")]
        return max(sum(sizes), sum(run.size for run in self.runs))

    def _manifest(self, sections: tuple[Section, ...], now: datetime) -> Manifest:
        sources = tuple(sorted({source for run in self.runs for source in run.sources}))
        # Several sources may name the same people.
        named = (self._attribution[source] for source in sources if source in self._attribution)
        attribution = tuple(dict.fromkeys(named))
        return Manifest(
            format=layout.VERSION,
            generation=layout.generation_name(now, sections, attribution),
            created_at=now.astimezone(UTC),
            count=sum(run.count for run in self.runs),
            sources=sources,
            attribution=attribution,
            values={field: int(np.fromfile(self.place / name, "<u8", 1)[0]) for field, name in LISTS.items()},
            sections=sections,
        )

    def _same(self, manifest: Manifest) -> Manifest | None:
        """The current generation's manifest, if it has the same content and is whole: a damaged one is built again."""
        try:
            path = self._shelf.current()
            if path is None or not layout.read_manifest(path).same_content(manifest):
                return None
            return Generation.open(path).manifest
        except (SnapshotBroken, SnapshotTooNew):
            return None


_TOO_LARGE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def _not_written(folder: Path, needed: int, error: OSError) -> SnapshotNotWritten:
    if error.errno not in _TOO_LARGE:
        return SnapshotNotWritten(f"the snapshot could not be written in {folder}: {error.strerror}")
    message = f"the snapshot needs about {needed:,} bytes in {folder} and could not be written: {error.strerror}"
    try:
        return SnapshotNotWritten(f"{message} ({shutil.disk_usage(folder).free:,} bytes are free)")
    except OSError:
        return SnapshotNotWritten(message)


class SnapshotBuilder:
    """Takes places in batches, then publishes them as one generation."""

    def __init__(self, folder: Path, *, attribution: Mapping[str, str] | None = None, memory: int = MEMORY) -> None:
        self._bench = Bench(folder, attribution)
        self._memory = memory
        self._writer: RunWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.discard()

    def add(self, places: Sequence[Place]) -> None:
        with self._bench.telling(self._held):
            self._writing().add(places)

    def discard(self) -> None:
        """Forgets the places added so far."""
        self._writer = None
        self._bench.clear()

    def publish(self, now: datetime) -> Manifest:
        """Writes the generation and makes it current, unless the current one has the same content."""
        with self._bench.telling(self._held):
            writer = self._writing()
            writer.flush()
            self._bench.runs = writer.runs
            stages = self._bench.compose(processes=1, memory=self._memory)
            manifest = self._bench.publish(perform_all(stages, self._bench.place), now)
        self.discard()
        return manifest

    def _writing(self) -> RunWriter:
        if self._writer is None:
            self._writer = RunWriter(self._bench.place, "rows", self._memory)
        return self._writer

    def _held(self) -> int:
        return self._writer.held if self._writer else 0


def build(
    places: Iterable[Place],
    folder: Path,
    *,
    now: datetime,
    attribution: Mapping[str, str] | None = None,
    memory: int = MEMORY,
) -> Manifest:
    """Publishes these places as a generation in one go."""
    arriving = iter(places)
    with SnapshotBuilder(folder, attribution=attribution, memory=memory) as builder:
        while batch := list(islice(arriving, _BATCH)):
            builder.add(batch)
        return builder.publish(now)
