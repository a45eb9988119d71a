"""Checks what another server says about a snapshot before any of it is trusted."""

import re
from pathlib import Path

from waypost.serving.format import (
    MANIFEST,
    SECTIONS,
    Manifest,
    SnapshotBroken,
    SnapshotTooNew,
    is_generation_name,
    read_manifest,
)
from waypost.serving.pulling.origin import OriginBroken
from waypost.serving.reading.reader import Generation

# More than any file system holds.
_HUGE = 1 << 62
_CHECKSUM = re.compile(r"[0-9a-f]{16}", re.ASCII)


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
