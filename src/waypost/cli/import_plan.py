"""The verb `waypost import plan`."""

import asyncio
from typing import TYPE_CHECKING

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json
from waypost.cli.import_scope import ReadScope, with_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from waypost.importing.plan import Plan
    from waypost.scaling.ratelimit.limits import Limit


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
