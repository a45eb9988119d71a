"""The command `waypost simulator`, and its verbs."""

from pathlib import Path

import click

from waypost.cli.frame import Group

group = Group(
    "simulator",
    help="A simulated provider, for demos, tests and drills.",
    examples=("waypost simulator run --places 5000", "waypost simulator run --file places.jsonl --key secret"),
)


@group.command(
    "run", examples=("waypost simulator run", "waypost simulator run --places 100000 --seed 7 --port 8095 --key secret")
)
@click.option(
    "--places", type=click.IntRange(0, 10_000_000), default=2000, show_default=True, help="How many places it has."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same places.",
)
@click.option("--file", type=click.Path(path_type=Path), help="Serve these records instead, one JSON object a line.")
@click.option("--key", help="The only key it accepts; without it, everybody may ask.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: 8090, or the next free one).")
@click.option("--debug", is_flag=True, help="Log more, and show tracebacks.")
def run(places: int, seed: int, file: Path | None, key: str | None, port: int | None, *, debug: bool) -> int:
    """Speak Open Charge Map's protocol on this machine: GET /v3/poi and /v3/referencedata.

    Its places are invented, in real countries, and the same for the same seed. It listens on loopback alone.
    """
    from waypost.roles.running import run as run_role
    from waypost.roles.simulating import DEFAULT_PORT, simulate
    from waypost.telemetry.logs import configure_logs

    configure_logs("debug" if debug else "info")

    def on_up(url: str) -> None:
        click.echo(f"The simulated provider is at {url}")

    _, stop = run_role(
        lambda stop: simulate(
            stop,
            on_up,
            places=places,
            seed=seed,
            file=file,
            key=key,
            port=DEFAULT_PORT if port is None else port,
            moves_on=port is None,
        )
    )
    return stop.exit_code
