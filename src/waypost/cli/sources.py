"""The command `waypost source`, and its verbs."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, print_json, with_json

if TYPE_CHECKING:
    from waypost.importing.check_source import CheckedSource

group = Group(
    "source",
    help="Which sources there are, and whether the file of one does what it should.",
    examples=("waypost source list", "waypost source check sources/lighthouses.toml --ask"),
)


@group.command("list", examples=("waypost source list", "WAYPOST_SOURCES='sources/*.toml' waypost source list --json"))
@with_json
def list_(load: Load, *, as_json: bool) -> None:
    """Every source that can be imported from, and the kinds that a file of one may have.

    A file that cannot be used, or a plugin that does not work, is listed with its error.
    """
    from waypost.bootstrap.sources import SOURCES, open_source, source_kinds
    from waypost.cli.source_view import print_sources
    from waypost.importing.list_sources import list_sources

    settings = load()
    names = (*SOURCES, *settings.sources)
    opener = partial(open_source, settings=settings)
    found = asyncio.run(list_sources(names, source_kinds(), opener, settings.sources, settings.budget.limits))
    if as_json:
        print_json(found)
    else:
        print_sources(found)


@group.command(
    "check",
    examples=(
        "waypost source check sources/lighthouses.toml",
        "LIGHTS_KEY=… waypost source check sources/lighthouses.toml --ask",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--ask", is_flag=True, help="Ask the provider once, within the budget, and show what was understood.")
@with_json
def check(load: Load, file: str, *, ask: bool, as_json: bool) -> int:
    """Read the file of a source and say what it will ask, without secrets.

    With --ask, one real request shows how its first three records are understood, or which field of which record is
    not, and what there is instead. Ends with 2 when the file is wrong, and with 1 when the provider fails.
    """
    from waypost.bootstrap.budgets import open_budget
    from waypost.bootstrap.sources import open_source
    from waypost.cli.source_view import print_checked
    from waypost.importing.check_source import ask_source, check_source
    from waypost.importing.list_sources import describe_source

    settings = load({"source": file})

    async def look() -> "CheckedSource":
        async with open_source(file, settings) as source:
            name = source.name
            listed = describe_source(source, settings.sources.get(name), settings.budget.limits[name])
            if not ask:
                return check_source(source, listed)
            return await ask_source(source, listed, lambda: open_budget(settings), max_wait=settings.budget.max_wait)

    checked = asyncio.run(look())
    if as_json:
        print_json(checked)
    else:
        print_checked(checked)
    return 2 if checked.fits is False else 0
