"""Looking again and again: drawn in place on a terminal, lines or NDJSON elsewhere."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from waypost.cli.frame import print_json, print_line
from waypost.kernel.quantities import parse_duration
from waypost.kernel.stopping import Stop

View = TypeVar("View")


def read_every(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--every") from None


async def look_repeatedly(
    look: Callable[[], Awaitable[View]], show: Callable[[View], None], stop: Stop, *, every: float, times: int | None
) -> None:
    while not stop.is_set() and times != 0:
        show(await look())
        times = None if times is None else times - 1
        if times != 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), every)


@contextmanager
def display(
    sentence: Callable[[View], str], table: Callable[[View], Table], *, as_json: bool
) -> Iterator[Callable[[View], None]]:
    if as_json:
        yield print_json
    elif not sys.stdout.isatty():
        yield lambda view: print_line(sentence(view))
    else:
        with Live(console=Console(), auto_refresh=False) as live:
            yield lambda view: live.update(table(view), refresh=True)
