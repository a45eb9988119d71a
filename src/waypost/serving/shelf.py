"""Where generations stand: which one is current, how one gets there and is taken away, and the one in service."""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from waypost.kernel.ids import new_id
from waypost.serving.durable import locked, sync_folder, try_lock, write_file
from waypost.serving.format import MANIFEST, NoSnapshot, SnapshotBroken, is_generation_name
from waypost.serving.reader import Generation

CURRENT = "CURRENT"
_LOCK = ".lock"
_BUILDING = ".building-"
_ALIVE = "lock"


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
        return sorted(path.parent for path in self.folder.glob(f"*/{MANIFEST}") if is_generation_name(path.parent.name))

    def changing(self) -> AbstractContextManager[None]:
        """Held by whoever gives or takes away names on the shelf; readers do not need it."""
        return locked(self.folder / _LOCK)

    @contextmanager
    def workplace(self) -> Iterator[Path]:
        """A new folder to build in, gone at the end unless it was published; those of dead builders go first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.changing():
            self._clear_up()
            path = self.folder / f"{_BUILDING}{new_id().hex}"
            path.mkdir()
            alive = (path / _ALIVE).open("xb")
            try_lock(alive)
        try:
            with alive:
                yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def publish(self, built: Path, name: str) -> None:
        """Gives a finished workplace its name and makes it the current generation. The caller holds `changing`."""
        pointer = self.folder / f"{CURRENT}.tmp"
        try:
            # Before the generation has its name: what needs space on the disk comes first.
            write_file(pointer, [name.encode() + b"\n"])
            self._put(built, self.folder / name)
            pointer.replace(self.folder / CURRENT)
        finally:
            pointer.unlink(missing_ok=True)
        sync_folder(self.folder)

    def prune(self, keep: int) -> list[Path]:
        """Takes away all but the newest generations and the current one; says which."""
        if not self.folder.is_dir():
            return []
        with self.changing():
            current = self.current()
            surplus = [path for path in self.generations()[: -max(1, keep)] if path != current]
            for path in surplus:
                self._take_away(path)
        return surplus

    def _put(self, built: Path, place: Path) -> None:
        (built / _ALIVE).unlink(missing_ok=True)
        if place.exists():
            self._take_away(place)
        built.rename(place)
        sync_folder(self.folder)

    def _take_away(self, generation: Path) -> None:
        """By another name first, so that a crash half-way leaves rubbish and not half a generation."""
        rubbish = self.folder / f"{_BUILDING}{new_id().hex}"
        generation.rename(rubbish)
        shutil.rmtree(rubbish, ignore_errors=True)

    def _clear_up(self) -> None:
        """A workplace whose lock is free, or that has none, has lost its builder: locks are made under `changing`."""
        for path in self.folder.glob(f"{_BUILDING}*"):
            try:
                with (path / _ALIVE).open("r+b") as alive:
                    dead = try_lock(alive)
            except FileNotFoundError:
                dead = True
            if dead:
                shutil.rmtree(path, ignore_errors=True)


class LiveGeneration:
    """The generation in service, exchanged between two answers when another one becomes current."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._generation: Generation | None = None

    @property
    def is_open(self) -> bool:
        return self._generation is not None

    @property
    def generation(self) -> Generation:
        if self._generation is None:
            raise NoSnapshot(self._shelf.folder)
        return self._generation

    def refresh(self) -> bool:
        """Whether another generation is in service now. When it cannot be opened the old one stays and this raises.

        The old one is let go of and not closed: an answer may still be on its way out of it.
        """
        path = self._shelf.current()
        if path is None or (self._generation is not None and path == self._generation.path):
            return False
        fresh = self._open(path)
        fresh.warm()
        self._generation = fresh
        return True

    def _open(self, path: Path) -> Generation:
        try:
            return Generation.open(path)
        except SnapshotBroken:
            # It may have been replaced and pruned since its name was read.
            later = self._shelf.current()
            if later is None or later == path:
                raise
            return Generation.open(later)
