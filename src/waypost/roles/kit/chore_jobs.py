"""Chores, our own jobs that ask no provider: building snapshots, forgetting old jobs."""

from waypost.bootstrap.stores import Stores
from waypost.importing.retention import prune
from waypost.kernel.quantities import parse_duration
from waypost.scaling.jobs.job import Held
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey
from waypost.scaling.schedules.schedule import OLDER, PRUNE
from waypost.serving.settings import SNAPSHOT
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("chores")


class Chores:
    """Its `work` ends no job: the worker acknowledges a job whose `work` raised no error."""

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self._settings = settings
        self._stores = stores

    async def work(self, held: Held) -> None:
        key = ShardKey.parse(held.lease.shard)
        if key.axes == (SNAPSHOT,):
            await self._build_snapshot()
        elif key.axes == (PRUNE, OLDER):
            held.counted["pruned"] = await prune(self._stores.imports, self._stores.jobs, older_than=_read_age(key))
            log.info("jobs pruned", pruned=held.counted["pruned"])
        else:
            raise BadShardKey(f"{key} is not a chore of this release")

    async def _build_snapshot(self) -> None:
        from waypost.roles.kit.snapshot_build import build_snapshot  # noqa: PLC0415 - large, and few workers build one

        manifest = await build_snapshot(self._settings, self._stores)
        log.info("snapshot built", generation=manifest.generation, places=manifest.count)


def _read_age(key: ShardKey) -> float:
    try:
        return parse_duration(key[OLDER])
    except ValueError as error:
        raise BadShardKey(f"{key}: {error}") from None
