"""Pulls a generation to this shelf: only the files that it lacks, from where an earlier attempt ended."""

import asyncio
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import AskedWrongly, Conflict
from waypost.serving.format import (
    MANIFEST,
    Manifest,
    Section,
    SnapshotBroken,
    SnapshotNotWritten,
    is_generation_name,
    read_manifest,
)
from waypost.serving.pulling.arrivals import Arrival
from waypost.serving.pulling.fetching import Fetcher
from waypost.serving.pulling.origin import (
    NotAtOrigin,
    Origin,
    OriginAway,
    OriginBroken,
    check_arrived,
    read_foreign_manifest,
    read_foreign_name,
)
from waypost.serving.reading.reader import Generation
from waypost.serving.shelf import CURRENT, Shelf

# Called with how many bytes are here, and how many there are in all.
Progress = Callable[[int, int], None]

_MOST_NAME, _MOST_MANIFEST = 256, 1 << 20
# How often the origin may move on to another generation while we pull one.
_MOST_MOVES = 5
_PATIENCE, _PAUSE = 60.0, 0.1
_MAKE_ROOM = "make room, for example with: waypost snapshot prune --keep 1; then the same command"


class PullUnderWay(Conflict):
    """Another process is pulling the same generation to the same folder."""


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """`received` counts the bytes that came over the network; the rest of `size` was here already.

    `moved` says whether the current generation here has changed.
    """

    generation: str
    places: int
    size: int
    received: int
    moved: bool


class Puller:
    def __init__(
        self, origin: Origin, shelf: Shelf, *, progress: Progress | None = None, rng: random.Random | None = None
    ) -> None:
        self._origin = origin
        self._shelf = shelf
        self._progress = progress or (lambda _here, _total: None)
        self._rng = rng or random.Random()  # noqa: S311 - it spreads tries and keeps no secret
        self._known: set[str] = set()

    async def pull(self, name: str | None = None) -> Pulled:
        """Pulls the named generation, or the origin's current one, and makes it current here."""
        fetcher = Fetcher(self._origin, self._rng)
        if name is None:
            return await self._pull_current(fetcher)
        if not is_generation_name(name):
            raise AskedWrongly(
                f"{name[:80]!r} is not the name of a generation; they look like 20261115T093640Z-ab4d41cc",
                parameter="generation",
            )
        return await self._bring(name, fetcher)

    async def _pull_current(self, fetcher: Fetcher) -> Pulled:
        wanted = await self._current()
        for _ in range(_MOST_MOVES):
            try:
                return await self._bring(wanted, fetcher)
            except NotAtOrigin as gone:
                # It was pruned while we pulled it, so another one is current by now.
                before, wanted = wanted, await self._current()
                if wanted == before:
                    raise OriginBroken(
                        f"{self._origin.url}/{CURRENT} names {wanted}, and {gone}",
                        next_step="where it comes from: waypost snapshot verify",
                    ) from gone
        raise OriginAway(f"{self._origin.url} moves to another generation faster than one can be pulled")

    async def _current(self) -> str:
        return read_foreign_name(await self._origin.read(CURRENT, _MOST_NAME), f"{self._origin.url}/{CURRENT}")

    async def _bring(self, name: str, fetcher: Fetcher) -> Pulled:
        """Pulls one generation; if another process is already pulling it, waits for that one within bounds."""
        give_up = monotonic() + _PATIENCE
        while True:
            try:
                if manifest := await asyncio.to_thread(self._look, name):
                    return await self._use(manifest, fetcher)
                if arrival := await asyncio.to_thread(Arrival.claim, self._shelf, name):
                    with arrival:
                        return await self._fill(arrival, fetcher)
            except OSError as error:
                message = f"the snapshot cannot be written to {self._shelf.folder}: {error.strerror or error}"
                raise SnapshotNotWritten(f"{message}; what has arrived is kept", next_step=_MAKE_ROOM) from error
            if monotonic() >= give_up:
                raise PullUnderWay(f"another process has been pulling {name} for more than {_PATIENCE:g} seconds")
            await asyncio.sleep(_PAUSE)

    def _look(self, name: str) -> Manifest | None:
        """The manifest of a generation that is here already; None if it is damaged, so that it is pulled again."""
        path = self._shelf.folder / name
        try:
            if name in self._known:
                return read_manifest(path)
            generation = Generation.open(path)
        except SnapshotBroken:
            return None
        self._known.add(name)
        generation.close()
        return generation.manifest

    async def _use(self, manifest: Manifest, fetcher: Fetcher) -> Pulled:
        moved = not self._is_current(manifest.generation)
        if moved:
            await asyncio.to_thread(self._shelf.use, manifest.generation)
        return _pulled(manifest, fetcher.received, moved=moved)

    def _is_current(self, name: str) -> bool:
        try:
            return self._shelf.current() == self._shelf.folder / name
        except SnapshotBroken:
            return False

    async def _fill(self, arrival: Arrival, fetcher: Fetcher) -> Pulled:
        name = arrival.path.name
        # The process that held it before us may have finished since we looked; in service, it must not be replaced.
        if manifest := await asyncio.to_thread(self._look, name):
            await asyncio.to_thread(arrival.discard)
            return await self._use(manifest, fetcher)
        url = f"{self._origin.url}/{name}"
        arrival.keep(MANIFEST, await self._origin.read(f"{name}/{MANIFEST}", _MOST_MANIFEST))
        manifest = read_foreign_manifest(arrival.path, url)
        wanted = [section for section in manifest.sections if not await asyncio.to_thread(arrival.has, section)]
        _refuse_without_room(arrival.path, wanted)
        await self._fetch(arrival.path, manifest, wanted, fetcher)
        await asyncio.to_thread(check_arrived, arrival.path, url)
        moved = not self._is_current(name)
        await asyncio.to_thread(arrival.publish)
        self._known.add(name)
        return _pulled(manifest, fetcher.received, moved=moved)

    async def _fetch(self, folder: Path, manifest: Manifest, wanted: Sequence[Section], fetcher: Fetcher) -> None:
        total = _size(manifest.sections)
        here = total - _size(wanted)

        def on_bytes(part: int) -> None:
            self._progress(here + part, total)

        for section in wanted:
            await fetcher.fetch(folder, section, on_bytes)
            here += section.size


def _pulled(manifest: Manifest, received: int, *, moved: bool) -> Pulled:
    size = _size(manifest.sections)
    return Pulled(generation=manifest.generation, places=manifest.count, size=size, received=received, moved=moved)


def _size(sections: Sequence[Section]) -> int:
    return sum(section.size for section in sections)


def _refuse_without_room(folder: Path, wanted: Sequence[Section]) -> None:
    """Refuses before anything arrives, which also catches a manifest that lies about sizes."""
    here = sum(path.stat().st_size for path in folder.glob("*.part"))
    needed, free = _size(wanted) - here, shutil.disk_usage(folder).free
    if needed > free:
        raise SnapshotNotWritten(
            f"the snapshot needs {needed:,} bytes more in {folder.parent.parent}, and {free:,} bytes are free",
            next_step=_MAKE_ROOM,
        )
