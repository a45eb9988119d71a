"""A file that is being read, page by page, and what may go wrong with it on the way."""

import errno
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.files.cursor import Cursor
from waypost.adapters.sources.files.errors import FileBroken, FileUnusable
from waypost.adapters.sources.files.formats import SHOWN, Format, FoundRecord, Start
from waypost.importing.cuts import IdRange
from waypost.importing.source import Fetched, Page, ProviderUnavailable, Reject

# After these error numbers, trying again changes nothing; an error without a number comes from a decompressor.
_HOPELESS = {None, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENOENT, errno.ELOOP}


class Abandoned(Exception):
    """Nobody waits for the page any longer."""


@dataclass(frozen=True)
class ReadingBounds:
    records: int
    size: int


class Reading:
    """Used by one thread at a time."""

    def __init__(self, path: Path, source: str, form: Format, fields: FieldMap, cursor: Cursor) -> None:
        self._path = path
        self._source = source
        self._form = form
        self._fields = fields
        self._cursor = cursor
        with telling(path):
            self._records, self._before = form.open(path, cursor.start)

    @property
    def cursor(self) -> Cursor:
        return self._cursor

    def close(self) -> None:
        self._records.close()

    def page(self, bounds: ReadingBounds, is_abandoned: Callable[[], bool]) -> Page:
        """Returns the next records, up to the bounds. The first page covers everything: what no page brings is gone."""
        covers = IdRange() if self._cursor.start.number == 0 else None
        fetched: list[Fetched] = []
        rejects: list[Reject] = []
        size, last = 0, False
        with telling(self._path):
            self._skip(is_abandoned)
            while len(fetched) + len(rejects) < bounds.records and size < bounds.size and not last:
                found = self._next(is_abandoned)
                item = self._read(found) if found else None
                if isinstance(item, Fetched):
                    fetched.append(item)
                elif item:
                    rejects.append(item)
                size += len(item.record) if item else 0
                last = item is None
        received = len(fetched) + len(rejects)
        return Page(
            tuple(fetched), tuple(rejects), str(self._cursor), last, received=received, covers=covers, at_rest=True
        )

    def _skip(self, is_abandoned: Callable[[], bool]) -> None:
        while self._before:
            if is_abandoned():
                raise Abandoned
            if next(self._records, None) is None:
                raise FileBroken(f"it has fewer records than the {self._cursor.start.number} that were read before")
            self._before -= 1

    def _next(self, is_abandoned: Callable[[], bool]) -> FoundRecord | None:
        if is_abandoned():
            raise Abandoned
        found = next(self._records, None)
        if found:
            start = Start(self._cursor.start.number + 1, found.end)
            self._cursor = Cursor(start, self._cursor.state, self._cursor.restarts)
        return found

    def _read(self, found: FoundRecord) -> Fetched | Reject:
        number = self._cursor.start.number
        fields, record = None, found.content if isinstance(found.content, bytes) else b""
        try:
            if not record or found.reason is None:
                fields, record = self._form.decode(found.content)
            if found.reason:
                raise ValueError(found.reason)  # noqa: TRY301 - one way out for all that is wrong
            assert fields is not None
            return Fetched(self._fields.to_place(fields, self._source), record, number)
        except ValueError as error:
            shown = record or msgspec.json.encode(str(found.content)[:SHOWN])
            return Reject(shown, f"record {number}: {error}", self._external_id(fields or found.content))

    def _external_id(self, fields: Any) -> str | None:
        """Returns the id if it can be read: rows have fields before they are decoded, and JSON does not."""
        if not isinstance(fields, Mapping):
            return None
        try:
            return self._fields.external_id(fields, self._source)
        except ValueError:
            return None


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """Raises whatever goes wrong with a file with its name, as an error that is worth another try or not."""
    try:
        yield
    except (FileBroken, EOFError, zlib.error, lzma.LZMAError) as error:
        raise FileUnusable(f"{path} is damaged or incomplete: {error}") from error
    except OSError as error:
        if error.errno in _HOPELESS:
            raise FileUnusable(f"{path} cannot be read: {error.strerror or error}") from error
        raise ProviderUnavailable(f"{path} cannot be read at the moment: {error.strerror or error}") from error
