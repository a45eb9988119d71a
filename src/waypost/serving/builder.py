"""Building a generation from places and publishing it; the same places give the same bytes in whatever order."""

import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from xxhash import xxh3_64

from waypost.places.place import Place, to_feature
from waypost.serving import format as layout
from waypost.serving.boxes import on_earth
from waypost.serving.durable import sync_folder, write_file
from waypost.serving.format import Manifest, Section, SnapshotBroken, SnapshotNotWritten, SnapshotTooNew, UnusablePlace
from waypost.serving.reader import Generation
from waypost.serving.sections import Laid, Rows, lay_out
from waypost.serving.shelf import Shelf

Progress = Callable[[int], None]
_BATCH = 1000


class SnapshotBuilder:
    """Takes places in batches, then publishes them as one generation; nothing is on the disk before `publish`.

    `attribution` says, by source, whom to name where its places are shown.
    """

    def __init__(
        self, folder: Path, *, attribution: Mapping[str, str] | None = None, progress: Progress | None = None
    ) -> None:
        self._shelf = Shelf(folder)
        self._attribution = attribution or {}
        self._progress = progress
        self.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def add(self, places: Sequence[Place]) -> None:
        for place in places:
            if not on_earth(place.lon, place.lat):
                raise UnusablePlace(f"{place.external_id} is at {place.lon}, {place.lat}, which is not on Earth")
            self._features.append(to_feature(place) + b",")
            self._ids += place.id.bytes
            self._lon.append(place.lon)
            self._lat.append(place.lat)
            self._sources.add(place.source)
        if self._progress:
            self._progress(len(self._features))

    def discard(self) -> None:
        """Forgets the places added so far."""
        self._features: list[bytes] = []
        self._ids = bytearray()
        self._lon, self._lat = array("d"), array("d")
        self._sources: set[str] = set()

    def publish(self, now: datetime) -> Manifest:
        """Writes the generation and makes it current, unless the current one already says the same."""
        laid = lay_out(Rows(self._features, self._ids, np.asarray(self._lon), np.asarray(self._lat)))
        try:
            with self._shelf.workplace() as place:
                manifest = self._write(place, laid, now)
                with self._shelf.changing():
                    current = self._current()
                    if current and current.same_content(manifest):
                        return current
                    self._shelf.publish(place, manifest.generation)
                return manifest
        except OSError as error:
            raise _not_written(self._shelf.folder, sum(part.size for part in laid), error) from error

    def _write(self, place: Path, laid: tuple[Laid, ...], now: datetime) -> Manifest:
        sections = tuple(_write_section(place, part) for part in laid)
        sources = sorted(self._sources)
        attribution = tuple(self._attribution[source] for source in sources if source in self._attribution)
        manifest = Manifest(
            format=layout.VERSION,
            generation=layout.generation_name(now, sections, attribution),
            created_at=now.astimezone(UTC),
            count=len(self._features),
            sources=tuple(sources),
            attribution=attribution,
            sections=sections,
        )
        write_file(place / layout.MANIFEST, [layout.encode_manifest(manifest)])
        sync_folder(place)
        return manifest

    def _current(self) -> Manifest | None:
        """The current generation's manifest if its files are whole: a damaged one must not stop its own repair."""
        try:
            path = self._shelf.current()
            return Generation.open(path).manifest if path else None
        except (SnapshotBroken, SnapshotTooNew):
            return None


def build(
    places: Iterable[Place],
    folder: Path,
    *,
    now: datetime,
    attribution: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Publishes these places as a generation in one go."""
    arriving = iter(places)
    with SnapshotBuilder(folder, attribution=attribution, progress=progress) as builder:
        while batch := list(islice(arriving, _BATCH)):
            builder.add(batch)
        return builder.publish(now)


def _write_section(folder: Path, part: Laid) -> Section:
    checksum = xxh3_64()

    def summed() -> Iterator[bytes]:
        for piece in part.pieces:
            checksum.update(piece)
            yield piece

    write_file(folder / part.name, summed())
    return Section(part.name, part.size, checksum.hexdigest())


def _not_written(folder: Path, needed: int, error: OSError) -> SnapshotNotWritten:
    message = f"the snapshot needs {needed:,} bytes in {folder} and could not be written: {error.strerror}"
    try:
        return SnapshotNotWritten(f"{message} ({shutil.disk_usage(folder).free:,} bytes are free)")
    except OSError:
        return SnapshotNotWritten(message)
