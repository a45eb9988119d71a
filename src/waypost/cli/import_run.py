"""The verbs `waypost import plan`, `waypost import start` and `waypost import run`."""

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, show, with_json
from waypost.cli.import_scope import ReadScope, with_scope
from waypost.cli.import_view import print_ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from waypost.importing.imports import ImportReport
    from waypost.importing.plan import Plan, PlannedImport
    from waypost.importing.source import Scope, Source
    from waypost.importing.start import Started
    from waypost.kernel.stopping import Stop
    from waypost.scaling.ratelimit.limits import Limit
    from waypost.settings import Settings


@command(
    "plan",
    examples=(
        "waypost import plan --source ocm --country DE,FR",
        "waypost import plan --country DE --since 2026-02-01T00:00:00Z --until 2026-02-21T12:00:00Z --window 1d",
    ),
)
@with_scope
@with_json
def plan(load: Load, source: str, read: ReadScope, *, as_json: bool) -> None:
    """Print the shards of an import, without asking or changing anything.

    One line per shard, then their count, and the fewest requests and seconds that they take within the budget if none
    of it is done yet. A time is covered with whole hours, days and months in UTC, the largest that fit.
    """
    from waypost.bootstrap.sources import open_source
    from waypost.importing.plan import IMPORT_ID, describe, limits_of, plan_import
    from waypost.kernel.clock import utc_now

    settings, scope = load({"source": source}), read()

    async def look() -> "tuple[Plan, Sequence[Limit]]":
        async with open_source(source, settings) as opened:
            limits = limits_of(opened, settings.budget.limits)
            shards = plan_import(opened, scope, import_id=IMPORT_ID, now=utc_now()).shards
            return describe(opened.name, shards, limits), limits

    planned, limits = asyncio.run(look())
    if as_json:
        print_json(planned)
        return
    for shard in planned.shards:
        print_line(shard)
    budget = f", which take {planned.seconds} s at {','.join(limit.name for limit in limits)}" if limits else ""
    print_line(f"{planned.count} shards; at least {planned.requests} requests{budget}")
    if scope.refresh:
        say(f"{IMPORT_ID} stands for the id that the import gets when it runs")


@command(
    "start",
    examples=(
        "waypost import start --source ocm --country DE,FR,NL",
        "waypost import start --country DE --since 2026-02-21T00:00:00Z --json",
    ),
)
@with_scope
@with_json
def start(load: Load, source: str, read: ReadScope, *, as_json: bool) -> None:
    """Enqueue what is missing of a scope and print the import's id; workers do the rest.

    One small request makes sure that the provider is there and accepts our key. What was done today, or for a window,
    is not asked for again, except with --refresh.
    """
    from waypost.bootstrap.budgets import open_budget
    from waypost.bootstrap.stores import open_stores
    from waypost.importing.start import start_import

    settings, scope = load({"source": source}), read()

    async def work() -> "Started":
        async with (
            _planned(settings, source, scope) as (planned, opened),
            open_stores(settings) as stores,
            open_budget(settings) as budget,
        ):
            return await start_import(
                planned, opened, budget, stores.imports, stores.jobs, stores.facts, max_wait=settings.budget.max_wait
            )

    started = asyncio.run(work())
    if as_json:
        print_json(started)
        return
    print_line(started.id)
    say(f"{started.shards} shards; next: waypost worker run")


@command(
    "run",
    examples=(
        "WAYPOST_OCM_KEY=… waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
        "waypost import run --country DE --since 2026-02-21T00:00:00Z",
        "waypost import run --country DE,FR --refresh --processes 4",
    ),
)
@with_scope
@click.option("--processes", type=click.IntRange(1, 1000), help="Worker processes (default: one for each core).")
@with_json
def run(load: Load, source: str, read: ReadScope, processes: int | None, *, as_json: bool) -> int:
    """Enqueue what is missing of a scope and work until it is done.

    Asks within the budget (WAYPOST_BUDGET) and commits page by page: stopped or killed at any moment, the next run
    goes on where this one was. What was done today, or for a window, is not asked for again, except with --refresh,
    which also finds out what the provider no longer has. With --json, progress events come first, one per line, and
    the last line is the report.
    """
    from waypost.cli.progress import importing
    from waypost.roles.kit.event_loop import run as run_role

    settings, scope = load({"source": source}), read()

    async def work(stop: "Stop") -> "ImportReport":
        from waypost.bootstrap.budgets import open_budget
        from waypost.bootstrap.stores import open_stores
        from waypost.kernel.cores import available_cores
        from waypost.roles.kit.importer_assembly import make_importer
        from waypost.scaling.jobs.worker import worker_name

        async with (
            _planned(settings, source, scope) as (planned, opened),
            open_stores(settings) as stores,
            open_budget(settings) as budget,
        ):
            crew = processes or available_cores()
            importer = make_importer(settings, stores, opened, budget, owner=worker_name(), processes=crew)
            with importing("import", as_json=as_json) as on_progress:
                return await importer.run(planned, stop, on_progress)

    report, stop = run_role(work)
    show(report, lambda report: print_ended(report, scope), as_json=as_json)
    again = "the same command asks for everything again" if scope.refresh else "the same command goes on from here"
    if report.shards.get("cancelled"):
        say(f"waypost: the import was cancelled; {again}")
        return 1
    if stop.is_set():
        say(f"waypost: stopped before the end; {again}")
        return stop.exit_code or 1
    return 1 if report.shards.get("dead") else 0


@asynccontextmanager
async def _planned(settings: "Settings", name: str, scope: "Scope") -> "AsyncIterator[tuple[PlannedImport, Source]]":
    """Plans the import. To be used before a store is opened, so that a wrong command leaves no data folder behind."""
    from waypost.bootstrap.sources import open_source
    from waypost.importing.plan import plan_import
    from waypost.kernel.clock import utc_now
    from waypost.kernel.ids import new_id

    async with open_source(name, settings) as source:
        yield plan_import(source, scope, import_id=str(new_id()), now=utc_now()), source
