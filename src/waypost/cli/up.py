"""The command `waypost up`."""

import click

from waypost.cli.frame import Load, command, print_line, say, with_settings


@command(
    "up",
    examples=(
        "waypost up",
        "waypost up --data /var/lib/waypost --port 9000",
        "WAYPOST_OCM_KEY=… waypost up --country DE,FR",
    ),
)
@click.option("--host", help="Address to listen on (default: 127.0.0.1). Beyond loopback writing needs a key.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: 8080, or the next free one).")
@click.option("--places", type=click.IntRange(1, 1_000_000), help="Size of the simulated provider (default: 2000).")
@click.option("--country", help="What to import, such as DE,FR. Needed with a real provider.")
@with_settings
def up(load: Load, host: str | None, port: int | None, places: int | None, country: str | None) -> int:
    """Run everything in one process: import, snapshots, map, links.

    Without a key for Open Charge Map (WAYPOST_OCM_KEY) it starts a simulated provider and imports from that. A second
    start with the same data folder goes on where the first one was. Ctrl-C ends it.
    """
    from waypost.importing.plan import parse_countries
    from waypost.roles.kit.event_loop import run
    from waypost.roles.up import Wish
    from waypost.roles.up import up as up_role

    settings = load({"listen.host": host, "listen.port": port})
    wish = Wish(
        scope=parse_countries(country) if country is not None else None,
        places=places,
        moves_on=settings.found["listen.port"].origin == "default",
    )

    def on_up(url: str) -> None:
        print_line(f"Waypost is up at {url}")
        say(f"data in {settings.storage.folder}; Ctrl-C ends it")

    _, stop = run(lambda stop: up_role(settings, wish, stop, on_up))
    return stop.exit_code
