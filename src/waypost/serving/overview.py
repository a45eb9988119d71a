"""Lists the generations on a shelf, and describes one of them."""

from datetime import datetime
from itertools import takewhile
from pathlib import Path

import msgspec

from waypost.kernel.errors import NotFound
from waypost.serving.format import MANIFEST, Manifest, SnapshotBroken, SnapshotTooNew, read_manifest
from waypost.serving.shelf import Shelf


class NoOlderGeneration(NotFound):
    """There is nothing to compare the current generation with."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A generation on the shelf; if its manifest cannot be read, only the name and the `problem`."""

    generation: str
    current: bool
    created_at: datetime | None = None
    places: int | None = None
    size: int | None = None
    problem: str | None = None


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """`size` is that of all files together, in bytes; the manifest has the size of each."""

    path: str
    current: bool
    size: int
    manifest: Manifest


def list_generations(shelf: Shelf) -> list[Standing]:
    """All generations on the shelf, oldest first."""
    current = _current(shelf)
    return [_standing(path, is_current=path == current) for path in shelf.generations()]


def describe(shelf: Shelf, name: str | None) -> Described:
    path = shelf.find(name)
    manifest = read_manifest(path)
    return Described(path=str(path), current=path == _current(shelf), size=_size(path, manifest), manifest=manifest)


def before_current(shelf: Shelf) -> Path:
    """The newest generation that is older than the current one."""
    current = shelf.find()
    older = list(takewhile(lambda path: path != current, shelf.generations()))
    if not older:
        raise NoOlderGeneration(
            f"there is no older generation than {current.name} in {shelf.folder}",
            next_step="name two: waypost snapshot diff A B; waypost snapshot list shows them",
        )
    return older[-1]


def _standing(path: Path, *, is_current: bool) -> Standing:
    try:
        manifest = read_manifest(path)
        return Standing(
            generation=path.name,
            current=is_current,
            created_at=manifest.created_at,
            places=manifest.count,
            size=_size(path, manifest),
        )
    except (SnapshotBroken, SnapshotTooNew, OSError) as error:
        return Standing(generation=path.name, current=is_current, problem=str(error))


def _size(path: Path, manifest: Manifest) -> int:
    return (path / MANIFEST).stat().st_size + sum(section.size for section in manifest.sections)


def _current(shelf: Shelf) -> Path | None:
    """The current generation; None if CURRENT is damaged, which must not hide the generations there are."""
    try:
        return shelf.current()
    except SnapshotBroken:
        return None
