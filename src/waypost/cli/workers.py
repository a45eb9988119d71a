"""The command `waypost worker`, and its verbs."""

import click

from waypost.cli.frame import Group, Load, say, with_settings

group = Group(
    "worker",
    help="Work on jobs, beside any number of other workers.",
    examples=("waypost worker run", "waypost worker run --concurrency 8 --until-done"),
)


@group.command("run", examples=("waypost worker run", "WAYPOST_HEALTH_PORT=8081 waypost worker run --concurrency 8"))
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="Jobs to work on at once (default: 4).")
@click.option("--until-done", is_flag=True, help="End when no job is left to do.")
@click.option("--import", "import_id", metavar="ID", help="Work on this import alone, and end when it is done.")
@click.option("--parent", type=int, hidden=True)
@with_settings
def run(load: Load, concurrency: int | None, import_id: str | None, parent: int | None, *, until_done: bool) -> int:
    """Claim jobs, work on them, and keep their leases alive, until Ctrl-C or SIGTERM.

    Stopped, it gives its jobs back at once; killed, its leases run out and other workers go on where it was. Any number
    of workers may run: no two work on the same shard with effect.
    """
    from waypost.roles.kit.child_process import end_with
    from waypost.roles.kit.event_loop import run as run_role
    from waypost.roles.worker import run_worker

    settings = load({"jobs.concurrency": concurrency})

    def on_start(name: str) -> None:
        if parent is None:
            say(f"worker {name} is at work; Ctrl-C ends it")
        else:
            end_with(parent)

    _, stop = run_role(lambda stop: run_worker(settings, stop, on_start, until_done=until_done, import_id=import_id))
    return stop.exit_code
