"""Where generations are pulled from: the port, what can go wrong there, and checks of what another server says."""

import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from waypost.kernel.errors import AskedWrongly, NotFound, TerminalError, TransientError
from waypost.serving.format import (
    MANIFEST,
    SECTIONS,
    Manifest,
    SnapshotBroken,
    SnapshotTooNew,
    is_generation_name,
    read_manifest,
)
from waypost.serving.reading.reader import Generation

# More than any file system holds.
_HUGE = 1 << 62
_CHECKSUM = re.compile(r"[0-9a-f]{16}", re.ASCII)


class BadOrigin(AskedWrongly):
    """Snapshots cannot be pulled from this address."""


class OriginAway(TransientError):
    """The server with the snapshots does not answer, fails, or is too slow."""


class OriginBroken(TerminalError):
    """What the server has is not a usable snapshot: damaged, incomplete, or dangerous."""


class NotAtOrigin(NotFound):
    """The server has no snapshot, or not this one."""


class Arriving(msgspec.Struct, frozen=True):
    """A file on its way, from byte `start` on: an origin that cannot begin in the middle begins at 0.

    `size` is that of the whole file, if the origin tells; `tag` is the origin's name for exactly these bytes.
    """

    start: int
    size: int | None
    tag: str | None
    chunks: AsyncGenerator[bytes, None]


class Origin(Protocol):
    """A folder of snapshots elsewhere. Every call may raise the errors above, and ends in bounded time."""

    @property
    def url(self) -> str:
        """The address, for people, without secrets."""

    async def read(self, path: str, most: int) -> bytes:
        """Reads a small file. Raises OriginBroken if it has more than `most` bytes."""

    def open(self, path: str, start: int, tag: str | None) -> AbstractAsyncContextManager[Arriving]:
        """Opens a file from byte `start` on, or from its beginning if its tag is a different one by now."""


def read_foreign_name(content: bytes, url: str) -> str:
    """The name in a CURRENT file from this address. It becomes a path here, so it must be a generation's name."""
    name = content.decode("utf-8", errors="replace").strip()
    if not is_generation_name(name):
        raise OriginBroken(f"{url} says {name[:80]!r}, which is not a generation")
    return name


def read_foreign_manifest(folder: Path, url: str) -> Manifest:
    """The manifest of a generation that arrives from this address."""
    try:
        manifest = read_manifest(folder)
    except SnapshotTooNew as error:
        raise SnapshotTooNew(_elsewhere(error, folder, url), next_step="install a newer release here") from error
    except SnapshotBroken as error:
        raise OriginBroken(_elsewhere(error, folder, url)) from error
    except RecursionError:
        raise OriginBroken(f"{url}/{MANIFEST} is nested too deeply") from None
    names = [section.name for section in manifest.sections]
    # They become paths here: only the names we know, and each once.
    if sorted(names) != sorted(SECTIONS):
        wrong = sorted({*names} ^ {*SECTIONS}) or ["a file twice"]
        raise OriginBroken(f"{url}/{MANIFEST} does not name just the files of a snapshot: {wrong[0][:80]!r}")
    for section in manifest.sections:
        if not 0 <= section.size < _HUGE or not _CHECKSUM.fullmatch(section.xxh3):
            raise OriginBroken(f"{url}/{MANIFEST} has an impossible size or checksum for {section.name}")
    return manifest


def check_arrived(folder: Path, url: str) -> None:
    """Opens a generation as its readers will: files that match their manifest may still not belong together."""
    try:
        Generation.open(folder).close()
    except SnapshotBroken as error:
        raise OriginBroken(_elsewhere(error, folder, url)) from error


def _elsewhere(error: Exception, folder: Path, url: str) -> str:
    return str(error).replace(str(folder), url)
