"""A file that is being read, page by page: where it goes on, what may go wrong, and how it stays open between pages."""

import errno
import lzma
import re
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.files.formats import SHOWN, FileBroken, FileUnusable, Format, FoundRecord, Start
from waypost.importing.cuts import IdRange
from waypost.importing.source import BadCursor, Fetched, Page, ProviderUnavailable, Reject

_FORM = re.compile(r"record:(\d{1,18}),offset:(\d{1,18})?,file:(\d{1,20}-\d{1,20}),restarts:(\d{1,9})", re.ASCII)
# After these error numbers, trying again changes nothing; an error without a number comes from a decompressor.
_HOPELESS = {None, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENOENT, errno.ELOOP}
# More than a worker works on at once. One that is closed is opened again when its next page is asked for.
_MOST = 16


@dataclass(frozen=True, slots=True)
class Cursor:
    """`state` is the file's size and time; `restarts` is how often it changed while it was being read."""

    start: Start
    state: str
    restarts: int = 0

    def __str__(self) -> str:
        offset = "" if self.start.offset is None else self.start.offset
        return f"record:{self.start.number},offset:{offset},file:{self.state},restarts:{self.restarts}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        match = _FORM.fullmatch(text)
        if not match:
            raise BadCursor(f"{text!r} is not a cursor of this release's files source")
        return cls(Start(int(match[1]), int(match[2]) if match[2] else None), match[3], int(match[4]))


def state_of(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"


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


class OpenFiles:
    """Readings by shard and cursor. A caller that takes one has it alone, and puts it back when it may be read on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: OrderedDict[tuple[str, str], Reading] = OrderedDict()
        self._is_closed = False

    def take(self, shard: str, cursor: str) -> Reading | None:
        with self._lock:
            return self._readings.pop((shard, cursor), None)

    def put(self, shard: str, reading: Reading) -> None:
        with self._lock:
            key = (shard, str(reading.cursor))
            left = [self._readings.pop(key, None)]
            self._readings[key] = reading
            while len(self._readings) > (0 if self._is_closed else _MOST):
                left.append(self._readings.popitem(last=False)[1])
        for each in left:
            if each:
                each.close()

    def close(self) -> None:
        """Closes all files; those that are still being read are closed as soon as they are put back."""
        with self._lock:
            self._is_closed = True
            left = list(self._readings.values())
            self._readings.clear()
        for each in left:
            each.close()
