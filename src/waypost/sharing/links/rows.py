"""Rows of a file of links, whether it is CSV, JSON or a JSON object a line; each with its line number.

A row that cannot be read becomes an error in its place, and the rows after it still come.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.sharing.links.exporting import unescape

# Values by column name without case and separators, so that long_url is longUrl.
Row = Mapping[str, Any]

_MOST_BYTES = 256 * 1024 * 1024
# The name of a column without a heading.
_NAMELESS = ""


class BadImport(AskedWrongly):
    """A file of links, or a line of it, cannot be understood."""


Numbered = tuple[int, Row | BadImport]


def read_file(file: Path) -> str:
    """Returns the file's text. Raises BadImport when it is too long, or not UTF-8."""
    if file.stat().st_size > _MOST_BYTES:
        raise BadImport(f"{file} has more than {_MOST_BYTES >> 20} MiB; cut it into several files")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadImport(f"{file} is not UTF-8; save it as that") from None


def read_rows(text: str) -> Iterator[Numbered]:
    text = text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    return _from_json(text) if text.lstrip()[:1] in {"{", "["} else _from_csv(text)


def _from_csv(text: str) -> Iterator[Numbered]:
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count), strict=True)
    columns: list[str] | None = None
    while True:
        # A record may span several lines, and has the number of its first.
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield number, BadImport(f"this is not CSV ({error}); is there a quote that is never closed?")
            continue
        if cells is None:
            return
        if columns is None:
            columns = [_key(cell) for cell in cells]
        elif any(cells):
            yield number, _named(columns, cells)


def _named(columns: list[str], cells: list[str]) -> Row | BadImport:
    if len(cells) > len(columns):
        return BadImport(
            "there are more cells in this line than columns; put quotes around what has commas in it",
        )
    return {name: unescape(cell.strip()) for name, cell in zip(columns, cells, strict=False) if name != _NAMELESS}


def _from_json(text: str) -> Iterator[Numbered]:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        yield from _from_json_lines(text)
        return
    for number, entry in enumerate(_entries(found), start=1):
        yield number, _flat(entry)


def _from_json_lines(text: str) -> Iterator[Numbered]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield number, _flat(msgspec.json.decode(line))
            except (msgspec.DecodeError, RecursionError) as error:
                yield number, BadImport(f"this is not JSON: {error}")


def _entries(found: Any) -> list[Any]:
    """Finds the list of entries in an API's answer, wherever it lies; a single entry becomes a list."""
    if isinstance(found, list):
        return found
    if not isinstance(found, dict):
        return []
    for name in ("shortUrls", "data", "links", "result"):
        if isinstance(found.get(name), (list, dict)):
            return _entries(found[name])
    # YOURLS numbers its entries: link_1, link_2.
    values = list(found.values())
    return values if all(isinstance(value, dict) for value in values) else [found]


def _flat(entry: Any) -> Row | BadImport:
    if not isinstance(entry, dict):
        return BadImport("this is not an object with the fields of a link")
    # Shlink nests some of the fields one level deeper.
    inner = entry.get("meta")
    return {_key(name): value for name, value in (entry | inner if isinstance(inner, dict) else entry).items()}


def _key(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
