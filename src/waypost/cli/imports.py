"""The command `waypost import`, and its verbs."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, json_option, print_json, say, with_settings

if TYPE_CHECKING:
    from waypost.importing.imports import Report
    from waypost.roles.running import Stop

group = Group(
    "import",
    help="Bring places from a provider into the store.",
    examples=(
        "waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
    ),
)


@group.command(
    "run",
    examples=(
        "WAYPOST_OCM_KEY=… waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
    ),
)
@click.option("--source", default="ocm", show_default=True, help="Which kind of provider to ask.")
@click.option("--country", required=True, help="Countries to import, by their ISO codes: DE,FR,NL.")
@json_option
@with_settings
def run(load: Load, source: str, country: str, *, as_json: bool) -> int:
    """Enqueue what is missing for today and work until it is done.

    Asks within the budget (WAYPOST_BUDGET), one shard a country, and commits page by page: stopped or killed at any
    moment, the next run goes on where this one was. What was done today is not asked for again.
    """
    from waypost.cli.progress import importing
    from waypost.importing.plan import parse_countries
    from waypost.roles.running import run as run_role

    settings = load()
    scope = parse_countries(country)

    async def work(stop: "Stop") -> "Report":
        from waypost.bootstrap import open_source, open_stores
        from waypost.roles.importer import Importer, worker_name

        async with open_stores(settings) as stores, open_source(source, settings) as opened:
            with importing("import") as on_progress:
                return await Importer(settings, stores, opened, owner=worker_name()).run(scope, stop, on_progress)

    report, stop = run_role(work)
    if as_json:
        print_json(report)
    else:
        _print(report)
    if stop.is_set():
        say("waypost: stopped before the end; the same command goes on from here")
        return stop.exit_code or 1
    return 1 if report.shards.get("dead") else 0


def _print(report: "Report") -> None:
    click.echo(
        f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.rejected} rejected"
        f" in {report.seconds:.1f} s"
    )
    shards = ", ".join(f"{count} {status}" for status, count in report.shards.items())
    click.echo(f"shards: {shards}; requests: {report.requests}, {report.retries} retried, {report.refusals} refused")
    if report.shards.get("dead"):
        say("some shards failed for good; next: waypost job list --status dead")
    elif not report.requests:
        say("nothing to do: this scope was imported today already")
