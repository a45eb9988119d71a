"""Where generations arrive: a folder each, which outlives its process, so that the next process can go on with it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from waypost.serving.durable import sync_folder, try_lock, write_file
from waypost.serving.format import MANIFEST, SECTIONS, Section, SnapshotBroken, SnapshotTooNew, read_manifest
from waypost.serving.pulling.fetching import is_whole
from waypost.serving.shelf import ALIVE, Shelf

PULLING = ".pulling"


class Arrival:
    """The folder of one arriving generation, held by this process alone."""

    def __init__(self, shelf: Shelf, path: Path, alive: IO[bytes]) -> None:
        self._shelf = shelf
        self.path = path
        self._alive = alive

    @classmethod
    def claim(cls, shelf: Shelf, name: str) -> Self | None:
        """Takes the folder of a generation; None if another process holds it."""
        path = shelf.folder / PULLING / name
        shelf.folder.mkdir(parents=True, exist_ok=True)
        with shelf.changing():
            path.mkdir(parents=True, exist_ok=True)
            alive = (path / ALIVE).open("ab")
            if try_lock(alive):
                return cls(shelf, path, alive)
        alive.close()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._alive.close()

    def keep(self, name: str, content: bytes) -> None:
        write_file(self.path / name, [content])

    def has(self, section: Section) -> bool:
        """Whether the file is here: from an earlier try, or from another generation that has the same one."""
        mine = self.path / section.name
        if is_whole(mine, section):
            return True
        mine.unlink(missing_ok=True)
        for other in self._others(section):
            if _link(other, mine) and is_whole(mine, section):
                return True
            mine.unlink(missing_ok=True)
        return False

    def publish(self) -> None:
        for path in self.path.iterdir():
            if path.name not in {*SECTIONS, MANIFEST, ALIVE}:
                path.unlink()
        sync_folder(self.path)
        with self._shelf.changing():
            self._shelf.publish(self.path, self.path.name)
            self._clear_up()

    def discard(self) -> None:
        with self._shelf.changing():
            shutil.rmtree(self.path, ignore_errors=True)
            self._clear_up()

    def _others(self, section: Section) -> Iterator[Path]:
        for generation in reversed(self._shelf.generations()):
            with suppress(SnapshotBroken, SnapshotTooNew):
                if section in read_manifest(generation).sections:
                    yield generation / section.name
        for unfinished in self._unfinished():
            yield unfinished / section.name

    def _unfinished(self) -> list[Path]:
        return [path for path in (self._shelf.folder / PULLING).glob("*") if path != self.path]

    def _clear_up(self) -> None:
        """Removes unfinished folders that no process holds, now that there is a newer one. The caller holds `changing`,
        under which locks are made.
        """
        for path in self._unfinished():
            with suppress(OSError), (path / ALIVE).open("ab") as alive:
                if try_lock(alive):
                    shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):  # another process is still pulling
            (self._shelf.folder / PULLING).rmdir()


def _link(source: Path, target: Path) -> bool:
    """Gives a file a second name, as generations never change; copies it where the file system has no hard links."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return False
    except OSError:
        return _copy(source, target)
    return True


def _copy(source: Path, target: Path) -> bool:
    try:
        with source.open("rb") as file:
            write_file(target, iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return False
    return True
