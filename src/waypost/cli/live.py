"""Looking again and again, as `waypost job watch` does: drawn in place on a terminal, lines or NDJSON elsewhere."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

import click
import msgspec
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from waypost.bootstrap.stores import open_stores
from waypost.cli.frame import print_json, print_line
from waypost.kernel.clock import utc_now
from waypost.kernel.quantities import parse_duration
from waypost.kernel.stopping import Stop
from waypost.kernel.text import harmless
from waypost.scaling.jobs.job import STATUSES, Job, Status
from waypost.settings import Settings

Seen = TypeVar("Seen")
_MOST_ROWS = 30


def read_every(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--every") from None


async def look_repeatedly(
    look: Callable[[], Awaitable[Seen]], show: Callable[[Seen], None], stop: Stop, *, every: float, times: int | None
) -> None:
    while not stop.is_set() and times != 0:
        show(await look())
        times = None if times is None else times - 1
        if times != 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), every)


@contextmanager
def display(
    sentence: Callable[[Seen], str], table: Callable[[Seen], Table], *, as_json: bool
) -> Iterator[Callable[[Seen], None]]:
    if as_json:
        yield print_json
    elif not sys.stdout.isatty():
        yield lambda view: print_line(sentence(view))
    else:
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda view: live.update(table(view), refresh=True)


class View(msgspec.Struct, frozen=True):
    """Jobs and leases at one moment."""

    at: datetime
    jobs: dict[Status, int]
    leases: list[Job]


async def watch_jobs(settings: Settings, stop: Stop, *, every: float, times: int | None, as_json: bool) -> None:
    async with open_stores(settings, must_exist=True) as stores:

        async def look() -> View:
            counts = await stores.jobs.count()
            leases = await stores.jobs.list(status="leased", limit=_MOST_ROWS)
            return View(utc_now(), dict(counts), list(leases))

        with display(_sentence, _table, as_json=as_json) as show:
            await look_repeatedly(look, show, stop, every=every, times=times)


def _sentence(view: View) -> str:
    counts = ", ".join(f"{view.jobs[status]} {status}" for status in STATUSES if view.jobs.get(status))
    return counts or "no jobs"


def _table(view: View) -> Table:
    table = Table(title=_sentence(view), title_justify="left")
    for name in ("shard", "worker", "fence", "cursor", "attempts", "lease left"):
        table.add_column(name, justify="right" if name in {"fence", "attempts", "lease left"} else "left")
    for job in view.leases:
        left = (job.lease_until - view.at).total_seconds() if job.lease_until else 0.0
        cells = job.shard, job.lease_owner or "-", str(job.fence), job.cursor or "-", str(job.attempts), f"{left:.0f} s"
        table.add_row(*(Text(harmless(cell)) for cell in cells))
    return table
