"""CSV: a header with the names of the columns, and one record per row."""

import csv
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.sources.files.formats import SHOWN, FileBroken, FoundRecord, Records, Start, require_columns
from waypost.adapters.sources.files.streams import Line, is_compressed, open_stream, read_lines


class _TooLarge(Exception):
    pass


@dataclass
class _Lines:
    """Feeds the parser, which takes as many lines as a row has, and remembers what the row was made of."""

    lines: Iterator[Line]
    encoding: str
    bound: int
    content: bytearray = field(default_factory=bytearray)
    end: int = 0
    is_ended: bool = True
    is_exhausted: bool = False
    reason: str | None = None
    lost_quotes: int = 0

    def begin_row(self) -> None:
        self.content.clear()
        self.reason = None
        self.lost_quotes = 0

    def finish_row(self) -> None:
        """Goes to the end of a row that the parser gave up: the end of a line that is not inside quotes."""
        quotes = self.content.count(b'"') + self.lost_quotes
        while quotes % 2:
            line = next(self.lines, None)
            if line is None:
                raise FileBroken("it ends in the middle of a record")
            quotes += line.content.count(b'"') + line.lost_quotes
            self.end = line.end

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self.lines, None)
        if line is None:
            self.is_exhausted = True
            raise StopIteration
        self.content += line.content
        self.end, self.is_ended, self.lost_quotes = line.end, line.is_ended, line.lost_quotes
        if line.is_cut or len(self.content) > self.bound:
            raise _TooLarge
        try:
            return line.content.decode(self.encoding)
        except UnicodeDecodeError as error:
            self.reason = f"it is not {self.encoding}: {error.reason}"
            return line.content.decode(self.encoding, errors="replace")


@dataclass(frozen=True)
class Csv:
    bound: int
    delimiter: str
    encoding: str
    needed: Collection[str]

    def open(self, path: Path, start: Start) -> tuple[Records, int]:
        return self._read(path, start.offset or 0), 0 if start.offset else start.number

    def decode(self, content: dict[str, str]) -> tuple[Mapping[str, Any], bytes]:
        return content, msgspec.json.encode(content)

    def _read(self, path: Path, offset: int) -> Records:
        has_offsets = not is_compressed(path)
        with open_stream(path) as stream:
            header, offset_of_rows = self._header(_Lines(read_lines(stream, self.bound), self.encoding, self.bound))
            offset = offset or offset_of_rows
            if has_offsets:
                stream.seek(offset)
            lines = _Lines(read_lines(stream, self.bound, offset), self.encoding, self.bound)
            for found in self._rows(lines, header):
                yield found if has_offsets else FoundRecord(found.content, None, found.reason)

    def _header(self, lines: _Lines) -> tuple[list[str], int]:
        try:
            header = [name.strip() for name in next(csv.reader(lines, delimiter=self.delimiter, strict=True), [])]
        except (csv.Error, _TooLarge) as error:
            raise FileBroken(f"its header cannot be read: {error}") from None
        if lines.reason or len(set(header)) < len(header):
            raise FileBroken(lines.reason or "two of its columns have the same name")
        require_columns(header, self.needed)
        return header, lines.end

    def _rows(self, lines: _Lines, header: list[str]) -> Iterator[FoundRecord]:
        rows = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            lines.begin_row()
            try:
                row = next(rows, None)
            except _TooLarge:
                lines.finish_row()
                row, lines.reason = [], f"it is larger than {self.bound} bytes (import.max_answer)"
            except csv.Error as error:
                if lines.is_exhausted:
                    raise FileBroken(f"it ends in the middle of a record ({error})") from None
                if "field limit" in str(error):
                    lines.finish_row()
                row, lines.reason = [], f"it is not CSV: {error}"
            if row is None:
                return
            if row or lines.reason:
                yield _found(row, header, lines)


def _found(row: list[str], header: list[str], lines: _Lines) -> FoundRecord:
    reason = lines.reason
    if not reason and len(row) != len(header):
        if not lines.is_ended:
            raise FileBroken("it ends in the middle of a record")
        reason = f"it has {len(row)} columns, and the header has {len(header)}"
    if reason:
        return FoundRecord(bytes(lines.content[:SHOWN]), lines.end, reason)
    return FoundRecord(dict(zip(header, row, strict=True)), lines.end)
