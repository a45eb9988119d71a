"""The verbs `waypost import status`, `cancel` and `report`: about imports that were started."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_json, say, show, with_json
from waypost.cli.import_view import print_counts, print_rejects, print_shards, print_standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.bootstrap.stores import Stores
    from waypost.importing.imports import ImportStanding

# Shards that a report names unless it is asked for all.
_SLOWEST = 10


@command("status", examples=("waypost import status", "waypost import status 0190… --json"))
@click.argument("import_id", metavar="[ID]", required=False)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Without an id: how many.")
@with_json
def status(load: Load, import_id: str | None, limit: int, *, as_json: bool) -> None:
    """How an import stands, or the latest ones, by the status of their jobs."""
    from waypost.cli.stores import with_stores
    from waypost.importing.started_imports import latest_imports, standing_of

    async def look(stores: "Stores") -> "Sequence[ImportStanding]":
        if import_id:
            return [await standing_of(stores.imports, stores.jobs, import_id)]
        return await latest_imports(stores.imports, stores.jobs, limit)

    found = with_stores(load(), look)
    if as_json:
        print_json(found[0] if import_id else found)
        return
    for each in found:
        print_standing(each)
    if not found:
        say("no imports yet; next: waypost import run --source ocm --country DE,FR")


@command("cancel", examples=("waypost import cancel 0190…", "waypost import cancel 0190… --json"))
@click.argument("import_id", metavar="ID")
@with_json
def cancel(load: Load, import_id: str, *, as_json: bool) -> None:
    """Cancel the unfinished jobs of an import, except those that another import or a schedule wants.

    Workers drop them at their next write, and an `import run` of it ends. What was committed stays, and an import that
    wants the same shards goes on from there.
    """
    from waypost.cli.stores import with_stores
    from waypost.importing.started_imports import cancel_import

    found = with_stores(load(), lambda stores: cancel_import(stores.imports, stores.jobs, import_id))
    show(found, print_standing, as_json=as_json)


@command("report", examples=("waypost import report 0190…", "waypost import report 0190… --all-shards"))
@click.argument("import_id", metavar="ID")
@click.option("--all-shards", is_flag=True, help="Every shard, not only the ten slowest.")
@with_json
def report(load: Load, import_id: str, *, all_shards: bool, as_json: bool) -> None:
    """What an import did so far: places and requests, which of its shards took the longest, and why records
    were rejected.
    """
    from waypost.cli.stores import with_stores
    from waypost.importing.started_imports import report_of

    found = with_stores(load(), lambda stores: report_of(stores.imports, stores.jobs, import_id))
    if as_json:
        print_json(found)
        return
    print_counts(found)
    print_shards(found, None if all_shards else _SLOWEST)
    print_rejects(found)
