"""Records from a file, one a line, served as they are: real providers have odd records too, and importers must cope.

A line is refused only when it would break the protocol itself: it is not a JSON object, its ID is not a whole number,
or its ID is there twice. As with the real provider, records that are not published are never served, so they are left
out here.
"""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.simulator.columns import NO_ID, Mentions, Row, columns_of, row_of, whole
from waypost.simulator.dice import Ints
from waypost.simulator.provider import Provider
from waypost.simulator.query import WHOLE, Form
from waypost.simulator.shapes import shape

_GZIP_MAGIC = b"\x1f\x8b"
# Imported and published, submitted and published, or not stated.
_PUBLISHED = (100, 200, None)


class ProviderFileUnusable(AskedWrongly):
    """A file of records cannot be served."""

    slug = "simulator-file-unusable"

    def __init__(self, path: Path, reason: str, *, line: int | None = None) -> None:
        super().__init__(f"{path}, line {line}: {reason}" if line else f"{path}: {reason}", parameter="file")
        self.line = line


class StoredRecords:
    def __init__(self, records: list[bytes]) -> None:
        self._records = records

    def take(self, rows: Ints, form: Form) -> list[bytes]:
        stored = [self._records[row] for row in rows.tolist()]
        if form == WHOLE:
            return stored
        return [msgspec.json.encode(shape(msgspec.json.decode(record), form)) for record in stored]


def load(path: Path) -> Provider:
    """A provider with the published records of this file, which may be compressed with gzip."""
    seen: dict[int, int] = {}
    mentions = Mentions()
    kept: list[tuple[Row, bytes]] = []
    for line, raw in _lines(path):
        record = _record(path, line, raw)
        number = whole(record.get("ID"))
        if number in seen:
            raise ProviderFileUnusable(path, f"ID {number} was already on line {seen[number]}", line=line)
        seen[number] = line
        if record.get("SubmissionStatusTypeID") in _PUBLISHED:
            mentions.note(record)
            kept.append((row_of(record), raw))
    kept.sort(key=lambda pair: pair[0].number)
    reference = mentions.reference()
    columns = columns_of([row for row, _ in kept], reference)
    return Provider(columns, StoredRecords([raw for _, raw in kept]), reference)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines that are not empty, with their numbers."""
    try:
        with path.open("rb") as plain:
            packed = plain.peek(2)[:2] == _GZIP_MAGIC
            with gzip.open(plain) if packed else plain as lines:
                for number, line in enumerate(lines, start=1):
                    if text := line.strip():
                        yield number, text
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProviderFileUnusable(path, f"it cannot be read: {reason}") from error


def _record(path: Path, line: int, raw: bytes) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderFileUnusable(path, f"this is not JSON: {error}", line=line) from error
    if not isinstance(record, dict):
        raise ProviderFileUnusable(path, "a record is a JSON object; this is something else", line=line)
    if whole(record.get("ID")) == NO_ID:
        raise ProviderFileUnusable(path, "the record has no ID that is a whole number", line=line)
    return record
