"""The command `waypost import`, and its verbs."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Group, Load, json_option, print_json, say, with_settings

if TYPE_CHECKING:
    from waypost.bootstrap import Stores
    from waypost.importing.imports import DetailedReport, Report, ShardReport, Standing
    from waypost.importing.source import Scope, Source
    from waypost.roles.running import Stop
    from waypost.roles.starting import Started
    from waypost.settings import Settings

    ReadScope = Callable[[], Scope]

# Shards that a report names unless it is asked for all.
_SLOWEST = 10

group = Group(
    "import",
    help="Bring places from a provider into the store.",
    examples=(
        "waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
    ),
)


def _with_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the options that say what to import, and `read`, which turns them into a scope."""

    @click.option(
        "--source",
        default="ocm",
        show_default=True,
        help="Which source to ask: ocm, the name of a configured one, or the .toml file of one for this process alone"
        " (workers elsewhere need it in WAYPOST_SOURCES).",
    )
    @click.option("--country", help="Countries to import, by their ISO codes: DE,FR,NL.")
    @click.option("--bbox", metavar="W,S,E,N", help="A box to import, for sources that can: 5.8,47.2,15.1,55.1.")
    @click.option("--since", metavar="T", help="Only what changed from this time on: 2026-02-21T00:00:00Z.")
    @click.option("--until", metavar="T", help="Only what changed before this time (default: the last whole hour).")
    @click.option("--window", metavar="GRID", help="Cut that time into windows of 1h, 1d or 1mo at most [default: 1mo]")
    @click.option("--refresh", is_flag=True, help="Ask for everything now, also for what was done today.")
    @click.option("--allow-mass-delete", is_flag=True, help="With --refresh: remove what is gone, however much it is.")
    @functools.wraps(function)
    def call(
        *,
        country: str | None,
        bbox: str | None,
        since: str | None,
        until: str | None,
        window: str | None,
        refresh: bool,
        allow_mass_delete: bool,
        **given: Any,
    ) -> Any:
        def read() -> "Scope":
            from waypost.importing.scope import read_scope
            from waypost.kernel.clock import utc_now

            return read_scope(
                now=utc_now(),
                country=country,
                bbox=bbox,
                since=since,
                until=until,
                window=window,
                refresh=refresh,
                allow_mass_delete=allow_mass_delete,
            )

        return function(read=read, **given)

    return call


@group.command(
    "plan",
    examples=(
        "waypost import plan --source ocm --country DE,FR",
        "waypost import plan --country DE --since 2026-02-01T00:00:00Z --until 2026-02-21T12:00:00Z --window 1d",
    ),
)
@_with_scope
@json_option
@with_settings
def plan(load: Load, source: str, read: "ReadScope", *, as_json: bool) -> None:
    """Print the shards of an import, without asking or changing anything.

    A line a shard, then their count, and the fewest requests and seconds that they take within the budget if nothing
    of it is done yet. A time is covered with whole hours, days and months in UTC, the largest that fit.
    """
    from waypost.roles.importer import IMPORT_ID
    from waypost.roles.importer import plan as plan_import
    from waypost.roles.running import run as run_role

    settings, scope = load({"source": source}), read()
    (planned, limits), _ = run_role(lambda _stop: plan_import(settings, source, scope))
    if as_json:
        print_json(planned)
        return
    for shard in planned.shards:
        click.echo(shard)
    budget = f", which take {planned.seconds} s at {','.join(limit.name for limit in limits)}" if limits else ""
    click.echo(f"{planned.count} shards; at least {planned.requests} requests{budget}")
    if scope.refresh:
        say(f"{IMPORT_ID} stands for the id that the import gets when it runs")


@group.command(
    "start",
    examples=(
        "waypost import start --source ocm --country DE,FR,NL",
        "waypost import start --country DE --since 2026-02-21T00:00:00Z --json",
    ),
)
@_with_scope
@json_option
@with_settings
def start(load: Load, source: str, read: "ReadScope", *, as_json: bool) -> None:
    """Enqueue what is missing of a scope and print the import's id; workers do the rest.

    One small request makes sure that the provider is there and wants our key. What was done today, or for a window, is
    not asked for again, unless with --refresh.
    """
    from waypost.bootstrap import open_budget
    from waypost.roles.starting import start_import

    settings, scope = load({"source": source}), read()

    async def work() -> "Started":
        async with _prepared(settings, source, scope) as (stores, opened), open_budget(settings) as budget:
            return await start_import(settings, stores, opened, budget, scope)

    started = asyncio.run(work())
    if as_json:
        print_json(started)
        return
    click.echo(started.id)
    say(f"{started.shards} shards; next: waypost worker run")


@group.command("status", examples=("waypost import status", "waypost import status 0190… --json"))
@click.argument("import_id", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Without an id: so many.")
@json_option
@with_settings
def status(load: Load, import_id: str | None, limit: int, *, as_json: bool) -> None:
    """How an import stands, or the latest ones: by their jobs, whoever works on them."""
    from waypost.cli.stores import with_stores
    from waypost.roles.imports import latest, standing_of

    async def look(stores: "Stores") -> "Sequence[Standing]":
        return [await standing_of(stores, import_id)] if import_id else await latest(stores, limit)

    found = with_stores(load(), look)
    if as_json:
        print_json(found[0] if import_id else found)
        return
    for each in found:
        _print_standing(each)
    if not found:
        say("no imports yet; next: waypost import run --source ocm --country DE,FR")


@group.command("cancel", examples=("waypost import cancel 0190…", "waypost import cancel 0190… --json"))
@click.argument("import_id", metavar="ID")
@json_option
@with_settings
def cancel(load: Load, import_id: str, *, as_json: bool) -> None:
    """Cancel the unfinished jobs of an import, except those that another import or a schedule wants.

    Workers drop them at their next write, and an `import run` of it ends. What was committed stays, and an import that
    wants the same shards goes on from there.
    """
    from waypost.cli.stores import with_stores
    from waypost.roles.imports import cancel_import

    found = with_stores(load(), lambda stores: cancel_import(stores, import_id))
    if as_json:
        print_json(found)
    else:
        _print_standing(found)


@group.command("report", examples=("waypost import report 0190…", "waypost import report 0190… --all-shards"))
@click.argument("import_id", metavar="ID")
@click.option("--all-shards", is_flag=True, help="Every shard, not only the ten slowest.")
@json_option
@with_settings
def report(load: Load, import_id: str, *, all_shards: bool, as_json: bool) -> None:
    """What an import did so far: places and requests, and which of its shards took the longest."""
    from waypost.cli.stores import with_stores
    from waypost.roles.imports import report_of

    found = with_stores(load(), lambda stores: report_of(stores, import_id))
    if as_json:
        print_json(found)
        return
    _print_counts(found)
    _print_shards(found, None if all_shards else _SLOWEST)


@group.command(
    "run",
    examples=(
        "WAYPOST_OCM_KEY=… waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
        "waypost import run --country DE --since 2026-02-21T00:00:00Z",
        "waypost import run --country DE,FR --refresh --processes 4",
    ),
)
@_with_scope
@click.option("--processes", type=click.IntRange(1, 1000), help="Worker processes (default: one for each core).")
@json_option
@with_settings
def run(load: Load, source: str, read: "ReadScope", processes: int | None, *, as_json: bool) -> int:
    """Enqueue what is missing of a scope and work until it is done.

    Asks within the budget (WAYPOST_BUDGET) and commits page by page: stopped or killed at any moment, the next run
    goes on where this one was. What was done today, or for a window, is not asked for again, unless with --refresh,
    which also finds out what the provider has no longer. With --json, events of progress come first, one a line, and
    the last line is the report.
    """
    from waypost.cli.progress import importing
    from waypost.roles.running import run as run_role

    settings, scope = load({"source": source}), read()

    async def work(stop: "Stop") -> "Report":
        from waypost.kernel.cores import available_cores
        from waypost.roles.importer import Importer, worker_name

        async with _prepared(settings, source, scope) as (stores, opened):
            crew = processes or available_cores()
            importer = Importer(settings, stores, opened, owner=worker_name(), processes=crew)
            with importing("import", as_json=as_json) as on_progress:
                return await importer.run(scope, stop, on_progress)

    report, stop = run_role(work)
    if as_json:
        print_json(report)
    else:
        _print(report, scope)
    again = "the same command asks for everything again" if scope.refresh else "the same command goes on from here"
    if report.shards.get("cancelled"):
        say(f"waypost: the import was cancelled; {again}")
        return 1
    if stop.is_set():
        say(f"waypost: stopped before the end; {again}")
        return stop.exit_code or 1
    return 1 if report.shards.get("dead") else 0


@asynccontextmanager
async def _prepared(settings: "Settings", name: str, scope: "Scope") -> "AsyncIterator[tuple[Stores, Source]]":
    from waypost.bootstrap import open_source, open_stores
    from waypost.kernel.clock import utc_now
    from waypost.roles.importer import IMPORT_ID

    async with open_source(name, settings) as source:
        # Once before a store is made, so that who asked wrongly finds no folder afterwards.
        source.plan(scope, utc_now().date(), IMPORT_ID)
        async with open_stores(settings) as stores:
            yield stores, source


def _print_standing(standing: "Standing") -> None:
    done = sum(standing.shards.get(name, 0) for name in ("done", "dead", "cancelled"))
    started = standing.started_at.strftime("%Y-%m-%d %H:%M:%SZ")
    click.echo(f"{standing.id}  {standing.status:<9}  {started}  {done} of {sum(standing.shards.values())} shards")


def _print_counts(report: "Report") -> None:
    click.echo(
        f"{report.added} added, {report.changed} changed, {report.unchanged} unchanged, {report.removed} removed,"
        f" {report.rejected} rejected in {report.seconds:.1f} s"
    )
    shards = ", ".join(f"{count} {status}" for status, count in report.shards.items())
    click.echo(f"shards: {shards}; requests: {report.requests}, {report.retries} retried, {report.refusals} refused")


def _print_shards(report: "DetailedReport", most: int | None) -> None:
    """The slowest first. What has taken no time yet comes last, in the order of the plan."""
    slowest = sorted(report.by_shard, key=lambda each: -each.seconds)
    for each in slowest[:most]:
        click.echo(_shard_line(each))
    if left := len(slowest[most:]) if most is not None else 0:
        say(f"and {left} more shards; all of them: waypost import report {report.id} --all-shards")


def _shard_line(shard: "ShardReport") -> str:
    counts = f"{shard.requests:>6} requests {shard.places:>8} places"
    reason = f"  {shard.last_error_message}" if shard.status == "dead" and shard.last_error_message else ""
    return f"{shard.status:<9} {shard.seconds:>9.1f} s {counts}  {shard.shard}{reason}"


def _print(report: "Report", scope: "Scope") -> None:
    _print_counts(report)
    if report.shards.get("dead"):
        say("some shards failed for good; next: waypost job list --status dead")
    elif not report.requests and not report.shards.get("cancelled"):
        say(f"nothing to do: this scope was imported {'' if scope.since else 'today '}already")
