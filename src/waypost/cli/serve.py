"""The command `waypost serve`, and its verbs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Group, Load, print_line, with_settings

if TYPE_CHECKING:
    from waypost.roles.serve import Links

group = Group(
    "serve",
    help="Serve places, links, or both, over HTTP.",
    examples=("waypost serve places", "waypost serve links --port 8081", "waypost serve all --host 0.0.0.0"),
)


def _listening(function: Callable[..., Any]) -> Callable[..., Any]:
    host = click.option("--host", help="Address to listen on (default: 127.0.0.1). Beyond it, writing needs a key.")
    port = click.option("--port", type=click.IntRange(0, 65535), help="Port (default: 8080, or the next free one).")
    return host(port(with_settings(function)))


@group.command("places", examples=("waypost serve places", "waypost serve places --data /var/lib/waypost --port 8081"))
@_listening
def serve_places(load: Load, host: str | None, port: int | None) -> int:
    """Answer places from the current snapshot, by id and in a box.

    It needs no database, only the folder of snapshots, and moves to a new snapshot between two requests. Where places
    are closed (WAYPOST_PLACES_OPEN=off), it asks the store for keys.
    """
    return _serve(load, host, port, places=True)


@group.command(
    "links", examples=("waypost serve links", "WAYPOST_PUBLIC_URL=https://go.example.org waypost serve links")
)
@_listening
def serve_links(load: Load, host: str | None, port: int | None) -> int:
    """Create links, redirect them and count their visits.

    Creating needs a key, or this machine: waypost key create.
    """
    return _serve(load, host, port, links="all")


@group.command(
    "redirect", examples=("waypost serve redirect", "waypost serve redirect --host 0.0.0.0 --port 80 --data /srv/go")
)
@_listening
def serve_redirect(load: Load, host: str | None, port: int | None) -> int:
    """Only follow links: for a host name that everybody can reach, with nothing else on it.

    It answers phrases, their previews and QR codes, reports of abuse, health and metrics, and counts visits.
    """
    return _serve(load, host, port, links="redirects")


@group.command("all", examples=("waypost serve all", "waypost serve all --host 0.0.0.0 --port 80"))
@_listening
def serve_all(load: Load, host: str | None, port: int | None) -> int:
    """Places and links on one port."""
    return _serve(load, host, port, places=True, links="all")


def _serve(
    load: Load, host: str | None, port: int | None, *, places: bool = False, links: "Links | None" = None
) -> int:
    from waypost.roles.kit.event_loop import run
    from waypost.roles.serve import serve_role

    settings = load({"listen.host": host, "listen.port": port})
    moves_on = settings.found["listen.port"].origin == "default"

    def on_up(url: str) -> None:
        print_line(f"Waypost serves at {url}")

    _, stop = run(lambda stop: serve_role(settings, stop, on_up, places=places, links=links, moves_on=moves_on))
    return stop.exit_code
