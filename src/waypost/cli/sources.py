"""The command `waypost source`, and its verbs."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Group, Load, print_line, show, with_json

if TYPE_CHECKING:
    from waypost.importing.inspect_sources import CheckedSource, ListedSource, Misunderstood, SourceList

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
    from waypost.importing.inspect_sources import list_sources

    settings = load()
    names = (*SOURCES, *settings.sources)
    opener = partial(open_source, settings=settings)
    found = asyncio.run(list_sources(names, source_kinds(), opener, settings.sources, settings.budget.limits))
    show(found, _print_sources, as_json=as_json)


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
    from waypost.importing.inspect_sources import ask_source, check_source, describe_source

    settings = load({"source": file})

    async def look() -> "CheckedSource":
        async with open_source(file, settings) as source:
            name = source.name
            listed = describe_source(source, settings.sources.get(name), settings.budget.limits[name])
            if not ask:
                return check_source(source, listed)
            return await ask_source(source, listed, lambda: open_budget(settings), max_wait=settings.budget.max_wait)

    checked = asyncio.run(look())
    show(checked, _print_checked, as_json=as_json)
    return 2 if checked.fits is False else 0


def _print_sources(found: "SourceList") -> None:
    for source in found.sources:
        _print_source(source)
        print_line()
    known = ", ".join(f"{kind.name} ({kind.package})" for kind in found.kinds if not kind.error)
    print_line(f"kinds: {known}")
    for kind in found.kinds:
        if kind.error:
            print_line(f"the kind {kind.name} ({kind.package}) does not work: {kind.error}")


def _print_checked(checked: "CheckedSource") -> None:
    _print_source(checked.source)
    _line("first shard", checked.shard)
    _line("first request", checked.first_request)
    if not checked.asked:
        return
    more = "and this is all" if checked.last else "and there are more pages"
    print_line(f"\nthe provider sent {checked.received} records, {more}")
    for place in checked.places:
        _print_place(place)
    for reject in checked.rejects:
        _print_reject(reject)
    if checked.fits is False:
        print_line("\nno record could be understood: correct the [fields] of the file")


def _print_source(source: "ListedSource") -> None:
    print_line(source.name)
    _line("kind", source.kind)
    _line("provider", source.provider)
    _line("licence", f"{source.licence.name}; {source.licence.attribution}" if source.licence else None)
    _line("plans by", ", ".join(source.plans))
    _line("budget", source.budget or (None if source.error else "none: no provider is asked"))
    _line("file", source.file)
    _line("error", source.error)


def _print_place(place: Mapping[str, Any]) -> None:
    print_line(f"\n{place['external_id']}")
    for name, value in place.items():
        if name not in {"external_id", "source"}:
            _line(name, _shown(value))


def _print_reject(reject: "Misunderstood") -> None:
    print_line(f"\n{reject.external_id or 'a record without an id'} is not a place: {reject.reason}")
    _line("its keys", ", ".join(reject.keys) or "none")


def _line(name: str, value: str | None) -> None:
    if value:
        print_line(f"  {name:<20} {value}")


def _shown(value: Any) -> str:
    import msgspec

    found = msgspec.to_builtins(value)
    if isinstance(found, Mapping):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in found.items())
    if isinstance(found, list | tuple):
        return ", ".join(_shown(each) for each in found)
    return "-" if found is None else str(found)
