"""The layout of a generation, format version 1, and what can be wrong with one.

A generation is a directory, named `<UTC time>-<8 hex digits of its content>`, that is never changed once it has its
name. All numbers are little-endian. Rows are places in the order of (place on a Hilbert curve, id), numbered from 0.
Where a file has several parts, each begins at a multiple of 64 bytes.

    features.bin   the rows' GeoJSON Features, each followed by a comma, so that a run of rows is one slice
    offsets.bin    u64[count + 1]: row r is at offsets[r] .. offsets[r + 1] of features.bin, its comma included
    ids.bin        16 bytes a row: its id
    slots.bin      u32[]: a hash index of the ids; an entry is a row + 1, or 0
    keys.bin       u64[count], ascending: where on the curve each row lies
    points.bin     f64[count] longitudes, f64[count] latitudes
    boxes.bin      the R-tree of the positions (flatbush layout, 64-bit floats); empty when there are no rows
    power.bin      f32[count]: the largest power in kW; not a number where it is unknown
    updated.bin    i64[count]: microseconds since 1970 at which the provider changed it; the least number where unknown
    country.bin, operator.bin, category.bin, status.bin, source.bin, words.bin
                   lists: each value that occurs, with the rows that have it (see `Lists`)
    manifest.json  written last: count, origin, and the size and xxh3 checksum of each file above
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from waypost.kernel.clock import to_us
from waypost.kernel.errors import TerminalError, TransientError

VERSION = 1

MANIFEST = "manifest.json"
FEATURES = "features.bin"
OFFSETS = "offsets.bin"
IDS = "ids.bin"
SLOTS = "slots.bin"
KEYS = "keys.bin"
POINTS = "points.bin"
BOXES = "boxes.bin"
POWER = "power.bin"
UPDATED = "updated.bin"
# Fields by which places are found, each with its file of lists.
LISTS = {field: f"{field}.bin" for field in ("country", "operator", "category", "status", "source", "words")}
SECTIONS = (FEATURES, OFFSETS, IDS, SLOTS, KEYS, POINTS, BOXES, POWER, UPDATED, *LISTS.values())

ALIGNMENT = 64
ID_BYTES = 16
# The value in updated.bin for a place whose provider gives no time.
NEVER = -(2**63)
# How many words of a place are kept, and how many characters of each: nobody types more.
MOST_WORDS, LONGEST_WORD = 32, 32

_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}", re.ASCII)


class SnapshotBroken(TerminalError):
    """A file of the snapshot is missing, short or damaged."""

    def __init__(self, path: Path, wrong: str) -> None:
        super().__init__(f"{path} {wrong}", next_step="waypost snapshot build")
        self.path = path
        self.outside = f"{path.name} {wrong}"


class SnapshotTooNew(TerminalError):
    """The snapshot was built by a later release than this one."""

    told_outside = "the snapshot was built by a later release"


class NoSnapshot(TransientError):
    """Nothing has been built yet."""

    told_outside = "there is no snapshot yet"

    def __init__(self, folder: Path | None = None) -> None:
        where = f" in {folder}" if folder else ""
        super().__init__(f"there is no snapshot{where} yet", next_step="waypost snapshot build")


class SnapshotNotWritten(TransientError):
    """A new generation could not be written; the one in service stays."""

    told_outside = "a new snapshot could not be written; the one in service stays"


class UnusablePlace(TerminalError):
    """A place that no snapshot can hold: it has no position on Earth, or another place has its id."""


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
    values: dict[str, int]
    sections: tuple[Section, ...]

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def same_content(self, other: "Manifest") -> bool:
        return (self.sections, self.attribution) == (other.sections, other.attribution)


class ListsLayout(msgspec.Struct, frozen=True):
    """Where the parts of a file of lists lie, computed from the three numbers in its header, the first 64 bytes.

    Each value has its text at texts[texts_at[v] : texts_at[v + 1]], in UTF-8 and ascending by its bytes, and its rows,
    ascending, at rows[rows_at[v] : rows_at[v + 1]].
    """

    values: int
    rows: int
    text_bytes: int

    @property
    def texts_at(self) -> int:
        """Where `texts_at` begins: u64[values + 1]."""
        return ALIGNMENT

    @property
    def rows_at(self) -> int:
        """Where `rows_at` begins: u64[values + 1]."""
        return self.texts_at + aligned(8 * (self.values + 1))

    @property
    def texts(self) -> int:
        return self.rows_at + aligned(8 * (self.values + 1))

    @property
    def first_row(self) -> int:
        """Where the rows begin: u32[rows]."""
        return self.texts + aligned(self.text_bytes)

    @property
    def size(self) -> int:
        return self.first_row + 4 * self.rows


def aligned(size: int) -> int:
    """Rounds a size up to where the next part begins."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def slots_for(count: int) -> int:
    """The number of home slots for `count` ids: a power of two, at most half of them taken."""
    return 1 << (2 * count - 1).bit_length() if count else 0


class _Version(msgspec.Struct):
    format: int


def generation_name(now: datetime, sections: tuple[Section, ...], attribution: tuple[str, ...]) -> str:
    """A name from the time, to the second, and a hash of the content."""
    content = xxh3_64_hexdigest(msgspec.json.encode((sections, attribution)))
    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{content[:8]}"


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, as in updated.bin."""
    return to_us(moment.astimezone(UTC))


def second_of(name: str) -> str:
    """The second in which a generation was made, as text that sorts by time."""
    return name.partition("-")[0]


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
        if version < VERSION:
            raise SnapshotBroken(path, f"has format version {version}, which is no longer read")
        return msgspec.json.decode(encoded, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotBroken(path, f"is damaged: {error}") from error
