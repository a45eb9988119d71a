"""The command `waypost budget`, and its verbs."""

import click

from waypost.cli.frame import Group, Load, with_json

group = Group(
    "budget",
    help="How many requests a provider may still get.",
    examples=("waypost budget show", "waypost budget show --watch"),
)


@group.command(
    "show",
    examples=("waypost budget show", "waypost budget show --watch", "waypost budget show --source lighthouses --json"),
)
@click.option(
    "--source", default="ocm", show_default=True, help="The source whose provider is asked, or its .toml file."
)
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C.")
@click.option("--every", default="1s", show_default=True, help="With --watch: how often to look.")
@click.option("--times", type=click.IntRange(1), help="With --watch: look this many times, then end.")
@with_json
def show(load: Load, source: str, every: str, times: int | None, *, watch: bool, as_json: bool) -> int:
    """How the budget of the key in use stands, wherever it is kept, without taking anything from it.

    The pace is the share of the rate that is used: refusals halve it, and success restores it.
    """
    from waypost.cli.budget_view import show_budget
    from waypost.cli.live import read_every
    from waypost.roles.kit.event_loop import run as run_role

    seconds, settings = read_every(every), load({"source": source})
    looks = times if watch else 1
    _, stop = run_role(lambda stop: show_budget(settings, source, stop, every=seconds, times=looks, as_json=as_json))
    return stop.exit_code
