"""Builds a generation from places and publishes it; the same places give the same bytes in any order.

Places become rows; as many as memory may hold are sorted and written to a run; the runs are merged into sections; these
are published. Here everything happens in one thread; a build with several processes shares out the steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Self

from waypost.places.place import Place
from waypost.serving.building.bench import Bench
from waypost.serving.building.runs import RunWriter
from waypost.serving.building.sections import perform_all
from waypost.serving.format import Manifest

# About how many bytes of rows all processes of a build hold at once.
MEMORY = 256 * 1024 * 1024
_BATCH = 1000


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
