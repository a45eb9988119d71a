"""Looking into the store while workers use it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

from waypost.bootstrap.stores import Stores, open_stores
from waypost.importing.cuts import IdRange
from waypost.scaling.jobs.job import Tally
from waypost.scaling.jobs.shards import ShardKey
from waypost.settings import Settings, load_settings

# More than there ever are.
_ALL = 1_000_000
# Nobody who is at work has SQLite's one lock for so long.
_LOCK_SECONDS = 1.0


@dataclass(frozen=True)
class Question:
    """What a page is asked for with: a country, and the id after which it begins."""

    country: str
    after: int


@dataclass(frozen=True)
class HeldJob:
    owner: str
    shard: str
    fence: int
    question: Question


class View:
    def __init__(self, settings: Settings, stores: Stores) -> None:
        self.url = settings.storage.store_url
        self.stores = stores

    async def held(self, owner: str | None = None) -> list[HeldJob]:
        """The jobs under a lease, of one worker or of all, and what they would ask next."""
        jobs = await self.stores.jobs.list(status="leased", limit=_ALL)
        return [
            HeldJob(job.lease_owner or "", job.shard, job.fence, _question(job.shard, job.cursor))
            for job in jobs
            if owner is None or job.lease_owner == owner
        ]

    async def overtaken(self, held: Sequence[HeldJob]) -> int:
        """How many of these are somebody else's by now, or were finished by others."""
        fences = {job.shard: job.fence for job in await self.stores.jobs.list(limit=_ALL)}
        return sum(fences.get(job.shard, job.fence) > job.fence for job in held)

    async def tally(self, import_id: str) -> Tally:
        return await self.stores.jobs.tally(import_id)

    async def is_blocked(self) -> bool:
        """Whether somebody keeps everybody else from writing, which only SQLite lets one do."""
        if not self.url.startswith("sqlite"):
            return False
        return await asyncio.to_thread(_is_locked, self.url.removeprefix("sqlite:///"))


@asynccontextmanager
async def view(env: dict[str, str]) -> AsyncIterator[View]:
    settings = load_settings(environ=env)
    async with open_stores(settings) as stores:
        yield View(settings, stores)


def _question(shard: str, cursor: str | None) -> Question:
    key = ShardKey.parse(shard)
    start = IdRange.parse(key["ids"]).start if "ids" in key.axes else 0
    return Question(key["country"], max(0, start - 1) if cursor is None else int(cursor.removeprefix("after:")))


def _is_locked(path: str) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=_LOCK_SECONDS)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
        connection.execute("rollback")
        return False
