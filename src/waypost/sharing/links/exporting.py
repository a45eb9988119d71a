"""Writes links for other programs: CSV for spreadsheets, NDJSON for scripts. Either can be imported again."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec

from waypost.kernel.clock import to_text
from waypost.sharing.links.link import LinkDocument

FileFormat = Literal["csv", "ndjson"]
COLUMNS = tuple(name for name in LinkDocument.__struct_fields__ if name not in {"owner", "edit_token"})
# A spreadsheet takes a cell that begins like this for a formula, and runs it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


async def export_links(pages: AsyncIterator[Sequence[LinkDocument]], form: FileFormat) -> AsyncIterator[str]:
    """Yields the file piece by piece."""
    is_first = True
    async for page in pages:
        if form == "csv":
            yield "".join(islice(csv_rows(page), 0 if is_first else 1, None))
        else:
            yield b"".join(ndjson_rows(page)).decode()
        is_first = False


def csv_rows(links: Iterable[LinkDocument]) -> Iterator[str]:
    """Yields the header, then a line for each link."""
    yield _row(COLUMNS)
    for link in links:
        values = {name: getattr(link, name) for name in COLUMNS}
        values["tags"] = "|".join(link.tags)
        for name in ("created_at", "updated_at", "expires_at"):
            values[name] = to_text(values[name]) if values[name] else ""
        yield _row([_cell(value) for value in values.values()])


def ndjson_rows(links: Iterable[LinkDocument]) -> Iterator[bytes]:
    for link in links:
        yield msgspec.json.encode(link) + b"\n"


def unescape(text: str) -> str:
    """Returns the text of a cell before it was made harmless."""
    return text[1:] if text.startswith("'") and text[1:].startswith((*_FORMULA, "'")) else text


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith((*_FORMULA, "'")) else text


def _row(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
