"""Does the jobs of our own that a worker claims: building snapshots, forgetting old jobs."""

from collections.abc import Collection

from waypost.bootstrap.stores import Stores
from waypost.importing.imports import status_by_jobs
from waypost.importing.retention import forget_all, forget_shards
from waypost.kernel.quantities import parse_duration
from waypost.scaling.chores import OLDER, PRUNE, SNAPSHOT
from waypost.scaling.jobs.job import Held, Status
from waypost.scaling.jobs.shards import BadShardKey, ShardKey
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

# So many imports may be running, of those that were started last.
_LATEST = 100

log = get_logger("chores")


class Chores:
    """Its `work` ends no job: the worker acknowledges what came back without an error."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self._settings = settings
        self._stores = stores

    async def work(self, held: Held) -> None:
        key = ShardKey.parse(held.lease.shard)
        if key.axes == (SNAPSHOT,):
            from waypost.roles.kit.snapshots import build_snapshot  # noqa: PLC0415 - large, and few workers build one

            manifest = await build_snapshot(self._settings, self._stores)
            log.info("snapshot built", generation=manifest.generation, places=manifest.count)
        elif key.axes == (PRUNE, OLDER):
            held.counted["pruned"] = await prune(self._stores, older_than=_read_age(key))
            log.info("jobs pruned", pruned=held.counted["pruned"])
        else:
            raise BadShardKey(f"{key} is no chore of this release")


async def prune(stores: Stores, *, older_than: float, statuses: Collection[Status] = ("done", "cancelled")) -> int:
    """Forget jobs that ended so many seconds ago, and what imports left behind as long ago: rejected records, answers,
    and where shards stand whose jobs are kept apart. Returns how many jobs that are.
    """
    await _settle(stores)
    await forget_all(stores.imports.forget_rejects, older_than)
    await forget_all(stores.imports.forget_answers, older_than)
    await forget_all(stores.imports.forget_removals, older_than)
    pruned = await stores.jobs.prune(older_than=older_than, statuses=statuses)
    await forget_shards(stores.imports, stores.jobs, older_than)
    return pruned


async def prune_events(stores: Stores, *, older_than: float) -> int:
    return await forget_all(stores.outbox.forget_older, older_than)


async def _settle(stores: Stores) -> None:
    """How an import ended is written down while its jobs can tell."""
    for each in await stores.imports.latest(_LATEST):
        if each.status == "running":
            status = status_by_jobs(await stores.jobs.tally(each.id))
            if status != "running":
                await stores.imports.finish(each.id, status)


def _read_age(key: ShardKey) -> float:
    try:
        return parse_duration(key[OLDER])
    except ValueError as error:
        raise BadShardKey(f"{key}: {error}") from None
