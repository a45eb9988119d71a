"""The layout of a generation, format version 0, and what can be wrong with one.

A generation is a directory, named `<UTC time>-<8 hex digits of its content>`, that is never changed once it has its
name. All numbers are little-endian. Rows are places in the order of a Hilbert curve, numbered from 0.

    features.bin   the rows' GeoJSON Features, each followed by a comma, so that a run of rows is one slice
    offsets.bin    u64[count + 1]: row r is at offsets[r] .. offsets[r + 1] of features.bin, its comma included
    ids.bin        u64[count] upper and u64[count] lower halves of the ids, sorted as 128-bit numbers,
                   then u32[count]: the rows they belong to
    boxes.bin      the R-tree of the positions (flatbush layout, 64-bit floats); empty when there are no rows
    manifest.json  written last: count, origin, and the size and xxh3 checksum of each file above
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from waypost.kernel.errors import TerminalError, TransientError

VERSION = 0

MANIFEST = "manifest.json"
FEATURES = "features.bin"
OFFSETS = "offsets.bin"
IDS = "ids.bin"
BOXES = "boxes.bin"
SECTIONS = (FEATURES, OFFSETS, IDS, BOXES)

OFFSET_BYTES = 8
ID_BYTES = 8 + 8 + 4

_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}", re.ASCII)


class SnapshotBroken(TerminalError):
    """A file of the snapshot is missing, short or damaged."""

    slug = "snapshot-broken"

    def __init__(self, path: Path, wrong: str) -> None:
        super().__init__(f"{path} {wrong}", next_step="waypost snapshot build")
        self.path = path


class SnapshotTooNew(TerminalError):
    """The snapshot was built by a later release than this one."""

    slug = "snapshot-too-new"


class NoSnapshot(TransientError):
    """Nothing has been built yet."""

    slug = "no-snapshot"

    def __init__(self, folder: Path) -> None:
        super().__init__(f"there is no snapshot in {folder} yet", next_step="waypost snapshot build")


class SnapshotNotWritten(TransientError):
    """A new generation could not be written; the one in service stays."""

    slug = "snapshot-not-written"


class UnusablePlace(TerminalError):
    """A place that no snapshot can hold: no position on Earth, or an id that another place has."""

    slug = "unusable-place"


class Section(msgspec.Struct, frozen=True):
    name: str
    size: int
    xxh3: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    generation: str
    created_at: datetime
    count: int
    sources: tuple[str, ...]
    attribution: tuple[str, ...]
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def same_content(self, other: "Manifest") -> bool:
        return (self.sections, self.attribution) == (other.sections, other.attribution)


class _Version(msgspec.Struct):
    format: int


def generation_name(now: datetime, sections: tuple[Section, ...], attribution: tuple[str, ...]) -> str:
    """A name that sorts by time and says the content."""
    content = xxh3_64_hexdigest(msgspec.json.encode((sections, attribution)))
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{content[:8]}"


def is_generation_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def encode_manifest(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(generation: Path) -> Manifest:
    path = generation / MANIFEST
    try:
        encoded = path.read_bytes()
    except FileNotFoundError:
        raise SnapshotBroken(path, "is missing") from None
    except OSError as error:
        raise SnapshotBroken(path, f"cannot be read: {error.strerror}") from error
    manifest = _decode(path, encoded)
    if manifest.generation != generation.name:
        raise SnapshotBroken(path, f"belongs to another generation, {manifest.generation}")
    return manifest


def _decode(path: Path, encoded: bytes) -> Manifest:
    try:
        # The version alone first: a later format may have other fields.
        version = msgspec.json.decode(encoded, type=_Version).format
        if version > VERSION:
            raise SnapshotTooNew(
                f"{path} has format version {version}; this release reads up to {VERSION}",
                next_step="run the release that built it, or build it again: waypost snapshot build",
            )
        if version < 0:
            raise SnapshotBroken(path, f"has an impossible format version, {version}")
        return msgspec.json.decode(encoded, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotBroken(path, f"is damaged: {error}") from error
