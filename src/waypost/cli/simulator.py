"""The command `waypost simulator`, and its verbs."""

from pathlib import Path
from typing import Any

import click

from waypost.cli.frame import Group, print_line, read_by
from waypost.kernel.quantities import parse_duration
from waypost.scaling.ratelimit.limits import parse_limits

group = Group(
    "simulator",
    help="A simulated provider, for demos, tests and drills.",
    examples=("waypost simulator run --places 5000", "waypost simulator run --file places.jsonl --key secret"),
)


@read_by
def _per_second(text: str) -> float:
    if len(limits := parse_limits(text)) > 1:
        raise ValueError(f"{text!r} names more than one rate")
    return limits[0].rate


@read_by
def _faults(text: str) -> Any:
    from waypost.simulator.conduct import parse_faults

    return parse_faults(text)


@read_by
def _placed(text: str) -> Any:
    from waypost.simulator.conduct import parse_placed

    return parse_placed(text)


@group.command(
    "run",
    examples=(
        "waypost simulator run",
        "waypost simulator run --places 100000 --seed 7 --port 8095 --key secret",
        "waypost simulator run --rate 5/s --faults 429=0.05,cut=0.02 --latency 20ms --log requests.ndjson",
        "waypost simulator run --edits 50/s --deletions 5/s --additions 1/s",
    ),
)
@click.option(
    "--places", type=click.IntRange(0, 10_000_000), default=2000, show_default=True, help="How many places it has."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same places, faults and changes.",
)
@click.option("--file", type=click.Path(path_type=Path), help="Serve these records instead, one JSON object per line.")
@click.option("--key", help="The only key it accepts; without it, everybody may ask.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: 8090, or the next free one).")
@click.option(
    "--rate", "limits", metavar="5/s", callback=read_by(parse_limits), help="Answer 429 to a key that asks more often."
)
@click.option(
    "--ban-after", type=click.IntRange(1), metavar="N", help="Ban a key that asks more than N times within a minute."
)
@click.option(
    "--faults", metavar="429=0.05,…", callback=_faults, help="What goes wrong, and for which share of requests."
)
@click.option(
    "--faults-at", metavar="12=429,…", callback=_placed, help="What goes wrong with the 12th request, and so on."
)
@click.option("--latency", metavar="20ms", callback=read_by(parse_duration), help="Wait this long before every answer.")
@click.option("--truncate", type=click.IntRange(1), metavar="N", help="Never send more than N records in one answer.")
@click.option("--edits", metavar="50/s", callback=_per_second, help="Edit this many places while it runs.")
@click.option("--deletions", metavar="5/s", callback=_per_second, help="Delete this many.")
@click.option("--additions", metavar="1/s", callback=_per_second, help="Add this many.")
@click.option("--log", type=click.Path(path_type=Path), help="Append a JSON line for every request to this file.")
@click.option("--debug", is_flag=True, help="Log more, and show tracebacks.")
def run(port: int | None, *, debug: bool, **given: Any) -> int:
    """Speak Open Charge Map's protocol on this machine: GET /v3/poi and /v3/referencedata.

    Its places are invented, in real countries, and the same for the same seed. It listens only on loopback, and
    shows what it saw at /-/. It can be a bad provider too: slow, broken, strict, and never at rest.
    """
    from waypost.roles.kit.event_loop import run as run_role
    from waypost.roles.kit.simulated_provider import DEFAULT_PORT
    from waypost.roles.simulator import Stage, simulate
    from waypost.simulator.changes import Rates
    from waypost.simulator.conduct import Conduct, Faults
    from waypost.telemetry.logs import configure_logs

    configure_logs("debug" if debug else "info")
    rates = Rates(given["edits"] or 0.0, given["deletions"] or 0.0, given["additions"] or 0.0)
    stage = Stage(given["places"], given["seed"], given["file"], rates, given["log"])
    conduct = Conduct(
        key=given["key"],
        limits=given["limits"] or (),
        ban_after=given["ban_after"],
        faults=Faults(given["faults"] or {}, given["seed"], given["faults_at"] or {}),
        latency=given["latency"] or 0.0,
        truncate=given["truncate"],
    )

    def on_up(url: str) -> None:
        print_line(f"The simulated provider is at {url}")

    _, stop = run_role(
        lambda stop: simulate(
            stop, on_up, stage, conduct, port=DEFAULT_PORT if port is None else port, moves_on=port is None
        )
    )
    return stop.exit_code
