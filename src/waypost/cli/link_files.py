"""The verbs `waypost link import` and `waypost link export`."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from waypost.cli.frame import Command, Load, json_option, print_json, say, with_settings

if TYPE_CHECKING:
    from waypost.roles.moving import FileFormat
    from waypost.settings import Settings
    from waypost.sharing.links.moving import Report

_MOST_TOLD = 20


@click.command(
    "import",
    cls=Command,
    examples=("waypost link import short_urls.csv --dry-run", "waypost link import links.json --json"),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Try everything, and keep nothing.")
@json_option
@with_settings
def import_links(load: Load, file: Path, *, dry_run: bool, as_json: bool) -> int:
    """Make the links in FILE: an export of Shlink, YOURLS, Bitly, Kutt or Waypost, or a table with a column `target`.

    Phrases and dates stay. Links that are there already stay as they are, so that a file can be imported again;
    but a line without a phrase gets a new one each time. Ends with 1 when some could not be made.
    """
    from waypost.cli.progress import counting
    from waypost.roles.moving import import_links as move

    settings = load()
    with counting("links", None) as on_progress:
        report = asyncio.run(move(settings, file, on_progress, dry_run=dry_run))
    if as_json:
        print_json(report)
    else:
        _tell(report, dry_run=dry_run)
    return 1 if report.refused else 0


def _tell(report: "Report", *, dry_run: bool) -> None:
    for each in report.refused[:_MOST_TOLD]:
        say(f"line {each.line}{f' ({each.phrase[:60]})' if each.phrase else ''}: {each.message}")
    if len(report.refused) > _MOST_TOLD:
        say(f"and {len(report.refused) - _MOST_TOLD} more; --json tells all")
    made = "would be made" if dry_run else "made"
    click.echo(
        f"{report.read} links read: {report.made} {made}, {report.there} there already, {len(report.refused)} refused"
    )


@click.command(
    "export",
    cls=Command,
    examples=("waypost link export > links.ndjson", "waypost link export --format csv --output links.csv"),
)
@click.option(
    "--format", "form", type=click.Choice(("ndjson", "csv")), default="ndjson", show_default=True, help="What to write."
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file instead of the standard output.")
@with_settings
def export_links(load: Load, form: "FileFormat", output: Path | None) -> None:
    """All links, newest first, as they are now. Passwords are not among it, and neither are single visits.

    A file gets its name once it is complete: until then, what was there before stays.
    """
    from waypost.kernel.whole_file import whole_file

    settings = load()
    if output is None:
        asyncio.run(_write(settings, form, sys.stdout.buffer))
    else:
        with whole_file(output) as file:
            asyncio.run(_write(settings, form, file))


async def _write(settings: "Settings", form: "FileFormat", file: BinaryIO) -> None:
    from waypost.roles.moving import export_links as read

    async for part in read(settings, form):
        file.write(part.encode())
