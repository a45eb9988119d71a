"""The verbs `waypost import start` and `waypost import run`."""

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json
from waypost.cli.import_scope import ReadScope, with_scope
from waypost.cli.import_view import print_ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from waypost.importing.imports import ImportReport
    from waypost.importing.plan import PlannedImport
    from waypost.importing.source import Scope, Source
    from waypost.importing.start import Started
    from waypost.kernel.stopping import Stop
    from waypost.settings import Settings


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
    if as_json:
        print_json(report)
    else:
        print_ended(report, scope)
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
