"""The filters of `waypost job list`, for the verbs that change jobs."""

from collections.abc import Callable
from typing import Any

import click

from waypost.scaling.jobs.job import STATUSES, Status
from waypost.scaling.jobs.store import MOST_CHOSEN, Chosen


def filters(most: int | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--status`, `--prefix` and `--limit`, with `most` as the default limit."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        limit = click.IntRange(1, MOST_CHOSEN)
        for option in (
            click.option("--limit", type=limit, default=most, show_default=True, help="At most this many."),
            click.option("--prefix", default="", help="Only shards whose keys begin like this."),
            click.option("--status", type=click.Choice(STATUSES), help="Only jobs with this status."),
        ):
            function = option(function)
        return function

    return decorate


def read_choice(status: Status | None, prefix: str, limit: int | None, *, able: tuple[Status, ...]) -> Chosen | None:
    """What was chosen by filters, or None if there are none; `able` are the statuses that the verb is for."""
    if status and status not in able:
        raise click.UsageError(f"that is for jobs that are {' or '.join(able)}; there is nothing to do for {status}")
    if not (status or prefix or limit):
        return None
    return Chosen(prefix, limit or MOST_CHOSEN)
