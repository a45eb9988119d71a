"""Progress on stderr: drawn on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import msgspec

from waypost.importing.progress import Progress
from waypost.kernel.clock import monotonic

_EVENT_SECONDS = 1.0


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar for something that is counted, up to a total if that is known."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True)
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def receiving(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for bytes that arrive, whose number is known once the first of them are there."""
    if not sys.stderr.isatty():
        yield lambda _here, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda here, total: bar.update(task, completed=here, total=total)


@contextmanager
def importing(name: str, *, as_json: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Shows shards, leases, places, errors, requests a second, the part of the budget in use, and the time left.

    For machines, prints the same as events on the standard output, one JSON document per line.
    """
    if as_json:
        yield _JsonImport().show
        return
    if not sys.stderr.isatty():
        yield _PlainImport().show
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        TextColumn("{task.fields[sentence]}"),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task(name, total=None, sentence="asking the provider")

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.shards_done, total=progress.shards_total, sentence=sentence(progress))

        yield show


class _PlainImport:
    """A line when another shard is done, so that a log shows movement and no more."""

    def __init__(self) -> None:
        self._shown = -1

    def show(self, progress: Progress) -> None:
        if progress.shards_done != self._shown:
            self._shown = progress.shards_done
            print(sentence(progress), file=sys.stderr, flush=True)  # noqa: T201 - this is the display


class _JsonImport:
    """An event when another shard is done, and at most one a second in between."""

    def __init__(self) -> None:
        self._done, self._at = -1, 0.0

    def show(self, progress: Progress) -> None:
        now = monotonic()
        if progress.shards_done != self._done or now >= self._at + _EVENT_SECONDS:
            self._done, self._at = progress.shards_done, now
            event = {"event": "progress", **asdict(progress)}
            print(msgspec.json.encode(event).decode(), flush=True)  # noqa: T201 - this is the display


def sentence(progress: Progress) -> str:
    errors = f", {progress.errors} errors" if progress.errors else ""
    left = "" if progress.seconds_left is None else f", {_duration(progress.seconds_left)} left"
    return (
        f"{progress.shards_done}/{progress.shards_total} shards ({progress.leases} leased), {progress.places} places,"
        f" {progress.requests_per_second:.1f} requests/s ({progress.budget_use:.0%} of budget){errors}{left}"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
