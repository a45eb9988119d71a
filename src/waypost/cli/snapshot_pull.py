"""The verb `waypost snapshot pull`."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json

if TYPE_CHECKING:
    from waypost.kernel.stopping import Stop
    from waypost.serving.pulling.pulling import Pulled
    from waypost.settings import Settings


@command(
    "pull",
    examples=(
        "waypost snapshot pull https://example.org/snapshots",
        "waypost snapshot pull https://example.org/snapshots --every 30s",
        "waypost snapshot pull http://10.0.0.5:8090 --generation 20261115T093640Z-ab4d41cc",
    ),
)
@click.argument("url")
@click.option("--generation", metavar="NAME", help="Pull this one instead of the current one.")
@click.option("--every", metavar="TIME", help="Look again and again, about this often (30s, 5m), until stopped.")
@with_json
def pull(load: Load, url: str, generation: str | None, every: str | None, *, as_json: bool) -> int:
    """Bring the current generation of another machine here, over HTTP, and make it current.

    URL is the folder of snapshots on any plain web server. Only files that differ from those here are fetched, and each
    is checked as it arrives. Stopped or killed, the same command goes on where it was. Generations beyond snapshot.keep
    are removed afterwards.
    """
    if generation and every:
        raise click.UsageError("a generation never changes: with --generation, --every has nothing to look for")
    settings = load()
    return _keep_pulling(settings, url, every, as_json=as_json) if every else _pull(settings, url, generation, as_json)


def _pull(settings: "Settings", url: str, generation: str | None, as_json: bool) -> int:  # noqa: FBT001 - private
    from waypost.bootstrap.snapshots import open_origin
    from waypost.cli.progress import receiving
    from waypost.roles.kit.event_loop import run
    from waypost.serving.pulling.keep import pull_once
    from waypost.serving.shelf import Shelf

    async def work(stop: "Stop") -> "Pulled":
        shelf, keep = Shelf(settings.snapshots), settings.serving.keep
        async with open_origin(url) as origin:
            return await pull_once(origin, shelf, stop, keep=keep, generation=generation, progress=on_progress)

    with receiving("snapshot") as on_progress:
        pulled, _ = run(work)
    _show(pulled, as_json=as_json)
    return 0


def _keep_pulling(settings: "Settings", url: str, every: str, *, as_json: bool) -> int:
    from waypost.bootstrap.snapshots import open_origin
    from waypost.cli.live import read_every
    from waypost.roles.kit.event_loop import run
    from waypost.serving.pulling.keep import pull_repeatedly
    from waypost.serving.shelf import Shelf

    seconds = read_every(every)
    say("looking for new generations; Ctrl-C ends it")

    async def work(stop: "Stop") -> None:
        shelf, keep = Shelf(settings.snapshots), settings.serving.keep
        async with open_origin(url) as origin:
            await pull_repeatedly(
                origin, shelf, stop, keep=keep, every=seconds, on_pulled=lambda pulled: _show(pulled, as_json=as_json)
            )

    _, stop = run(work)
    return stop.exit_code


def _show(pulled: "Pulled", *, as_json: bool) -> None:
    from waypost.cli.frame import read_aloud

    if as_json:
        print_json(pulled)
        return
    print_line(pulled.generation)
    if pulled.moved or pulled.received:
        received, size = read_aloud(pulled.received), read_aloud(pulled.size)
        say(f"{pulled.places:,} places; {received} of {size} came over the network")
    else:
        say("it was here already, and is current")
