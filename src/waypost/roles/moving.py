"""Links from and to files: those of other shorteners come in, ours go out."""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

from waypost.access.caller import LOCAL
from waypost.bootstrap.stores import open_stores, refuse_without_links
from waypost.kernel.clock import utc_now
from waypost.roles.authoring import make_author, read_vocabularies
from waypost.roles.sharing import read_links
from waypost.settings import Settings
from waypost.sharing.links.exporting import csv_rows, ndjson_rows
from waypost.sharing.links.importing import Line, read_export
from waypost.sharing.links.moving import Mover, Report
from waypost.sharing.links.rows import BadImport
from waypost.sharing.links.store import Wanted

FileFormat = Literal["csv", "ndjson"]
_MOST_BYTES = 256 * 1024 * 1024
_PHRASES_AT_ONCE = 1000

OnProgress = Callable[[int], None]


async def import_links(settings: Settings, file: Path, on_progress: OnProgress, *, dry_run: bool) -> Report:
    refuse_without_links(settings)
    now = utc_now()
    _, lines = read_export(_read(file), now)
    async with open_stores(settings) as stores:
        vocabularies = read_vocabularies(settings)
        author = make_author(settings, stores, block=_PHRASES_AT_ONCE, vocabularies=vocabularies)
        mover = Mover(author, vocabularies, LOCAL.name, now, dry_run=dry_run)
        await mover.move(_told(lines, on_progress))
    return mover.report


async def export_links(settings: Settings, form: FileFormat) -> AsyncIterator[str]:
    """The file, piece after piece; newest links first."""
    is_first = True
    async for page in read_links(settings, Wanted()):
        if form == "csv":
            yield "".join(islice(csv_rows(page), 0 if is_first else 1, None))
        else:
            yield b"".join(ndjson_rows(page)).decode()
        is_first = False


def _read(file: Path) -> str:
    if file.stat().st_size > _MOST_BYTES:
        raise BadImport(f"{file} has more than {_MOST_BYTES >> 20} MiB; cut it into several files")
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise BadImport(f"{file} is not UTF-8; save it as that") from None


def _told(lines: Iterator[Line], on_progress: OnProgress) -> Iterator[Line]:
    for count, line in enumerate(lines, 1):
        on_progress(count)
        yield line
