"""The verb `waypost link stats`."""

from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Load, command, print_json, print_line, with_json
from waypost.cli.moments import moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.sharing.visits.document import StatisticsDocument
    from waypost.sharing.visits.statistics import Value

_WIDEST = 40


@command(
    "stats",
    examples=(
        "waypost link stats summer-party",
        "waypost link stats summer-party --from 2026-02-01 --step hour",
        "waypost link stats summer-party --zone Europe/Berlin --json",
    ),
)
@click.argument("phrase")
@click.option("--from", "start", metavar="WHEN", callback=moment, help="From this moment on.")
@click.option("--to", "end", metavar="WHEN", callback=moment, help="Until just before this moment.")
@click.option("--as-of", metavar="WHEN", callback=moment, help="As it was then: nothing later is counted.")
@click.option(
    "--step", type=click.Choice(("hour", "day")), default="day", show_default=True, help="Length of a bucket."
)
@click.option("--zone", default="UTC", show_default=True, help="Where days begin, such as Europe/Berlin.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Most values of each kind.")
@with_json
def stats(load: Load, phrase: str, *, zone: str, as_json: bool, **asked: Any) -> None:
    """How often the link with this PHRASE was followed, when, and from where."""
    from waypost.cli.link_operations import with_operations
    from waypost.sharing.visits.zones import read_zone

    try:
        known = read_zone(zone)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--zone") from None
    if asked["start"] and asked["end"] and asked["start"] > asked["end"]:
        raise click.UsageError("--from is later than --to; change the two around")
    found = with_operations(load(), lambda links: links.statistics(phrase, zone=known, **asked))
    if as_json:
        print_json(found)
    else:
        _print(found)


def _print(found: "StatisticsDocument") -> None:
    print_line(f"visits: {found.visits}; visitors: {found.visitors}, each counted once a day; by bots: {found.bots}")
    most = max((bucket.visits for bucket in found.series.buckets), default=0)
    form = "%Y-%m-%d" if found.series.step == "day" else "%Y-%m-%d %H:%M"
    for bucket in found.series.buckets:
        bar = "█" * (-(-bucket.visits * _WIDEST // most) if most else 0)
        print_line(f"  {bucket.at:{form}}  {bucket.visits:>8}  {bar}".rstrip())
    for name in ("referrers", "browsers", "devices", "systems", "languages", "countries"):
        values: Sequence[Value] = getattr(found, name)
        if any(each.value for each in values):
            print_line(f"{name:<10} " + ", ".join(f"{each.value or 'unknown'} {each.visits}" for each in values))
