"""The options that say what to import."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from waypost.importing.source import Scope

ReadScope = Callable[[], "Scope"]


def with_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say what to import, and `read`, which turns them into a scope."""

    @click.option(
        "--source",
        default="ocm",
        show_default=True,
        help="Which source to ask: ocm, the name of a configured one, or the .toml file of one for this process alone"
        " (workers elsewhere need it in WAYPOST_SOURCES).",
    )
    @click.option("--country", help="Countries to import, by their ISO codes: DE,FR,NL.")
    @click.option("--bbox", metavar="W,S,E,N", help="A box to import, for sources that can: 5.8,47.2,15.1,55.1.")
    @click.option("--since", metavar="T", help="Only what changed from this time on: 2026-02-21T00:00:00Z.")
    @click.option("--until", metavar="T", help="Only what changed before this time (default: the last whole hour).")
    @click.option("--window", metavar="GRID", help="Cut that time into windows of 1h, 1d or 1mo at most [default: 1mo]")
    @click.option("--refresh", is_flag=True, help="Ask for everything now, also for what was done today.")
    @click.option("--allow-mass-delete", is_flag=True, help="With --refresh: remove what is gone, however much it is.")
    @functools.wraps(function)
    def call(
        *,
        country: str | None,
        bbox: str | None,
        since: str | None,
        until: str | None,
        window: str | None,
        refresh: bool,
        allow_mass_delete: bool,
        **given: Any,
    ) -> Any:
        def read() -> "Scope":
            from waypost.importing.scope import read_scope
            from waypost.kernel.clock import utc_now

            return read_scope(
                now=utc_now(),
                country=country,
                bbox=bbox,
                since=since,
                until=until,
                window=window,
                refresh=refresh,
                allow_mass_delete=allow_mass_delete,
            )

        return function(read=read, **given)

    return call
