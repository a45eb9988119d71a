"""Where generations are kept: which one is current, how one is published and removed, and the one in service."""

import os
import shutil
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from waypost.kernel.errors import NotFound
from waypost.kernel.ids import new_id
from waypost.kernel.suggesting import did_you_mean
from waypost.serving.durable import locked, sync_folder, try_lock, write_file
from waypost.serving.format import (
    MANIFEST,
    NoSnapshot,
    SnapshotBroken,
    SnapshotTooNew,
    is_generation_name,
    read_manifest,
    second_of,
)
from waypost.serving.reading.reader import Generation

CURRENT = "CURRENT"
# Readers look for a new generation about once a second; a client paging through an old one has this long to finish.
GRACE_SECONDS = 60.0
# How many stay open besides the one in service, for clients that page through earlier ones.
_MOST_KEPT = 2
_LOCK = ".lock"
_BUILDING = ".building-"
# Locked by the process that works in a folder, so that others see whether it is alive.
ALIVE = "lock"


class UnknownGeneration(NotFound):
    """The folder of snapshots has no generation of this name."""


class Shelf:
    """A folder of generations and a small file, CURRENT, that names the one to serve."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> Path | None:
        path = self.folder / CURRENT
        try:
            name = path.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SnapshotBroken(path, f"cannot be read: {error.strerror}") from error
        if not is_generation_name(name):
            raise SnapshotBroken(path, f"names {name!r}, which is not a generation")
        return self.folder / name

    def generations(self) -> list[Path]:
        """Whole generations, oldest first."""
        standing = (path.parent for path in self.folder.glob(f"*/{MANIFEST}"))
        return sorted((path for path in standing if is_generation_name(path.name)), key=_made_at)

    def find(self, name: str | None = None) -> Path:
        """The generation of this name, or the current one."""
        if name is None:
            current = self.current()
            if current is None:
                raise NoSnapshot(self.folder)
            return current
        known = {path.name: path for path in self.generations()}
        if name not in known:
            message = f"there is no generation {name[:80]!r} in {self.folder}.{did_you_mean(name, known)}"
            raise UnknownGeneration(message, next_step="waypost snapshot list")
        return known[name]

    def changing(self) -> AbstractContextManager[None]:
        """A lock for processes that add or remove names on the shelf; readers do not need it."""
        return locked(self.folder / _LOCK)

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """A new folder to build in, removed at the end unless it was published; those of dead builders go first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.changing():
            self._clear_up()
            path = self.folder / f"{_BUILDING}{new_id().hex}"
            path.mkdir()
            alive = (path / ALIVE).open("xb")
            try_lock(alive)
        try:
            with alive:
                yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def publish(self, built: Path, name: str) -> None:
        """Gives a finished workplace its name and makes it the current generation. The caller holds `changing`."""
        with self._pointing_to(name):
            self._put(built, self.folder / name)

    def use(self, name: str) -> None:
        """Makes a generation on this shelf the current one, if it opens."""
        path = self.find(name)
        with self.changing():
            Generation.open(path).close()
            with self._pointing_to(name):
                pass

    def prune(self, keep: int, grace: float = GRACE_SECONDS) -> list[Path]:
        """Removes all but the newest generations, the current one and those current a moment ago; returns the removed.

        Pass a grace of 0 only where nothing reads.
        """
        if not self.folder.is_dir():
            return []
        with self.changing():
            current = self.current()
            fresh = time.time() - grace
            surplus = [
                path
                for path in self.generations()[: -max(1, keep)]
                if path != current and path.stat().st_mtime <= fresh
            ]
            for path in surplus:
                self._take_away(path)
        return surplus

    @contextmanager
    def _pointing_to(self, name: str) -> Iterator[None]:
        """Makes a generation current once the body has put it on the shelf."""
        pointer = self.folder / f"{CURRENT}.tmp"
        try:
            # Written before the generation gets its name: what needs disk space comes first.
            write_file(pointer, [name.encode() + b"\n"])
            yield
            # The folder's time says until when a generation was in service; nothing in it changes.
            with suppress(OSError, SnapshotBroken):
                if before := self.current():
                    os.utime(before)
            pointer.replace(self.folder / CURRENT)
        finally:
            pointer.unlink(missing_ok=True)
        sync_folder(self.folder)

    def _put(self, built: Path, place: Path) -> None:
        (built / ALIVE).unlink(missing_ok=True)
        if place.exists():
            self._take_away(place)
        built.rename(place)
        sync_folder(self.folder)

    def _take_away(self, generation: Path) -> None:
        """Removes a generation; renames it first, so that a crash half-way leaves rubbish and not half a generation."""
        rubbish = self.folder / f"{_BUILDING}{new_id().hex}"
        generation.rename(rubbish)
        shutil.rmtree(rubbish, ignore_errors=True)

    def _clear_up(self) -> None:
        """Removes workplaces of dead builders: those whose lock is free or missing, as it is made under `changing`."""
        for path in self.folder.glob(f"{_BUILDING}*"):
            try:
                with (path / ALIVE).open("r+b") as alive:
                    dead = try_lock(alive)
            except FileNotFoundError:
                dead = True
            if dead:
                shutil.rmtree(path, ignore_errors=True)


def _made_at(generation: Path) -> tuple[str, float, str]:
    """A sort key by time: names have only seconds, and the manifests tell which of the same second came first."""
    moment = 0.0
    with suppress(SnapshotBroken, SnapshotTooNew):
        moment = read_manifest(generation).created_at.timestamp()
    return second_of(generation.name), moment, generation.name


class LiveGeneration:
    """The generation in service, replaced between two answers when another one becomes current."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._generation: Generation | None = None
        self._kept: deque[Generation] = deque(maxlen=_MOST_KEPT)
        # Those kept, and those still being read.
        self._open: WeakValueDictionary[str, Generation] = WeakValueDictionary()
        self._opening = Lock()

    @property
    def is_open(self) -> bool:
        return self._generation is not None

    @property
    def generation(self) -> Generation:
        if self._generation is None:
            # Without the folder: clients see this message.
            raise NoSnapshot
        return self._generation

    def refresh(self) -> bool:
        """Whether another generation is in service now. If it cannot be opened, the old one stays and this raises.

        The old one is released and not closed: an answer from it may still be on its way out.
        """
        self._let_go()
        path = self._shelf.current()
        if path is None or (self._generation is not None and path == self._generation.path):
            return False
        fresh = self._open_current(path)
        fresh.warm()
        if self._generation is not None:
            self._remember(self._generation)
        self._generation = fresh
        return True

    def kept(self, name: str) -> Generation | None:
        """The generation of this name, if it is open: in service now, in service recently, or asked for recently."""
        if self._generation is not None and self._generation.name == name:
            return self._generation
        return self._open.get(name)

    def keep(self, name: str) -> Generation | None:
        """Opens a generation that is still on the shelf, for clients that page through it; None if it is gone.

        It is found for as long as the caller holds it, however many others are asked for meanwhile.
        """
        with self._opening, suppress(UnknownGeneration, SnapshotBroken, SnapshotTooNew):
            if (found := self.kept(name)) is not None:
                return found
            found = Generation.open(self._shelf.find(name))
            self._remember(found)
            return found
        return None

    def _remember(self, generation: Generation) -> None:
        self._open[generation.name] = generation
        self._kept.append(generation)

    def _let_go(self) -> None:
        """Releases generations that were removed: their bytes stay on the disk for as long as they are open."""
        for generation in tuple(self._kept):
            if not generation.path.exists():
                with suppress(ValueError):
                    self._kept.remove(generation)

    def _open_current(self, path: Path) -> Generation:
        try:
            return Generation.open(path)
        except SnapshotBroken:
            # It may have been replaced and pruned since its name was read.
            later = self._shelf.current()
            if later is None or later == path:
                raise
            return Generation.open(later)
