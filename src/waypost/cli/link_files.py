"""The verbs `waypost link import` and `waypost link export`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json, with_settings

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.settings import Settings
    from waypost.sharing.links.exporting import FileFormat
    from waypost.sharing.links.moving import LinkImportReport
    from waypost.sharing.links.operations import LinkOperations

_MOST_TOLD = 20
_PHRASES_AT_ONCE = 1000


@command("import", examples=("waypost link import short_urls.csv --dry-run", "waypost link import links.json --json"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Try everything, and keep nothing.")
@with_json
def import_links(load: Load, file: Path, *, dry_run: bool, as_json: bool) -> int:
    """Make the links in FILE: an export of Shlink, YOURLS, Bitly, Kutt or Waypost, or a table with a column `target`.

    Phrases and dates stay. Links that are there already stay as they are, so that a file can be imported again;
    but a line without a phrase gets a new one each time. Ends with 1 when some could not be made.
    """
    from waypost.bootstrap.sharing import make_author, read_blocks, read_vocabularies
    from waypost.cli.progress import counting
    from waypost.cli.stores import with_links
    from waypost.kernel.clock import utc_now
    from waypost.sharing.links import moving
    from waypost.sharing.links.importing import read_export
    from waypost.sharing.links.rows import read_file

    settings = load()
    _, lines = read_export(read_file(file), utc_now())
    with counting("links", None) as on_progress:

        async def move(stores: "SharingStores") -> "LinkImportReport":
            words = read_vocabularies(settings)
            blocks = await read_blocks(settings, stores)
            author = make_author(settings, stores, block=_PHRASES_AT_ONCE, vocabularies=words, blocks=blocks)
            return await moving.import_links(author, words, lines, on_progress, dry_run=dry_run)

        report = with_links(settings, move, must_exist=False)
    if as_json:
        print_json(report)
    else:
        _tell(report, dry_run=dry_run)
    return 1 if report.refused else 0


def _tell(report: "LinkImportReport", *, dry_run: bool) -> None:
    for each in report.refused[:_MOST_TOLD]:
        say(f"line {each.line}{f' ({each.phrase[:60]})' if each.phrase else ''}: {each.message}")
    if len(report.refused) > _MOST_TOLD:
        say(f"and {len(report.refused) - _MOST_TOLD} more; --json tells all")
    made = "would be made" if dry_run else "made"
    print_line(
        f"{report.read} links read: {report.made} {made}, {report.there} there already, {len(report.refused)} refused"
    )


@command(
    "export", examples=("waypost link export > links.ndjson", "waypost link export --format csv --output links.csv")
)
@click.option(
    "--format", "form", type=click.Choice(("ndjson", "csv")), default="ndjson", show_default=True, help="What to write."
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file instead of the standard output.")
@with_settings
def export_links(load: Load, form: "FileFormat", output: Path | None) -> None:
    """All links, newest first, as they are now, without passwords and single visits.

    A file gets its name once it is complete: until then, what was there before stays.
    """
    from waypost.kernel.whole_file import whole_file

    settings = load()
    if output is None:
        _write(settings, form, sys.stdout.buffer)
    else:
        with whole_file(output) as file:
            _write(settings, form, file)


def _write(settings: "Settings", form: "FileFormat", file: BinaryIO) -> None:
    from waypost.cli.link_operations import with_operations
    from waypost.sharing.links import exporting
    from waypost.sharing.links.store import Wanted

    async def write(links: "LinkOperations") -> None:
        async for part in exporting.export_links(links.pages(Wanted()), form):
            file.write(part.encode())

    with_operations(settings, write)
