"""Looking into the store while workers use it, and while it is killed and comes back."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from waypost.bootstrap.stores import Stores, open_stores
from waypost.importing.cuts import IdRange
from waypost.importing.started_imports import report_of
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import Job, Tally
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.settings import Settings, load_settings

# More than there ever are.
_ALL = 1_000_000
# Nobody who is at work has SQLite's one lock for so long.
_LOCK_SECONDS = 1.0
_PATIENCE = 60.0
_AGAIN_SECONDS = 0.02
# That its connections break is what the drill does.
logging.getLogger("asyncpg").setLevel(logging.CRITICAL)
_AFTER = "after:"
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """What a page is asked for with: a country, and the id after which it begins."""

    country: str
    after: int


@dataclass(frozen=True)
class HeldJob:
    """`question` is None where no page is asked for that follows an id: of other sources, and at a shard's end."""

    owner: str
    shard: str
    fence: int
    question: Question | None


class View:
    def __init__(self, settings: Settings, stores: Stores) -> None:
        self.url = settings.storage.store_url
        self.stores = stores

    async def held(self, owner: str | None = None) -> list[HeldJob]:
        """The jobs under a lease, of one worker or of all, and what they would ask next."""
        return [
            HeldJob(job.lease_owner or "", job.shard, job.fence, _question(job.shard, job.cursor))
            for job in await self._jobs(leased=True)
            if owner is None or job.lease_owner == owner
        ]

    async def overtaken(self, held: Sequence[HeldJob]) -> int:
        """How many of these are somebody else's by now, or were finished by others."""
        fences = {job.shard: job.fence for job in await self._jobs()}
        return sum(fences.get(job.shard, job.fence) > job.fence for job in held)

    async def tally(self, import_id: str) -> Tally:
        return await _patiently(lambda: self.stores.jobs.tally(import_id))

    async def report(self, import_id: str) -> Mapping[str, Any]:
        """As `waypost import report --json` prints it."""
        imports, jobs = self.stores.imports, self.stores.jobs
        found: Mapping[str, Any] = msgspec.to_builtins(await _patiently(lambda: report_of(imports, jobs, import_id)))
        return found

    async def is_blocked(self) -> bool:
        """Whether somebody keeps everybody else from writing, which only SQLite lets one do."""
        if not self.url.startswith("sqlite"):
            return False
        return await asyncio.to_thread(_is_locked, self.url.removeprefix("sqlite:///"))

    async def _jobs(self, *, leased: bool = False) -> Sequence[Job]:
        return await _patiently(lambda: self.stores.jobs.list(status="leased" if leased else None, limit=_ALL))


@asynccontextmanager
async def view(env: dict[str, str]) -> AsyncIterator[View]:
    settings = load_settings(environ=env)
    async with open_stores(settings) as stores:
        yield View(settings, stores)


async def _patiently(look: Callable[[], Awaitable[T]]) -> T:
    """Again while the store is away."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            return await look()
        except StoreTrouble:
            if time.monotonic() > give_up:
                raise
            await asyncio.sleep(_AGAIN_SECONDS)


def _question(shard: str, cursor: str | None) -> Question | None:
    key = ShardKey.parse(shard)
    if key.source != "ocm" or not (cursor is None or cursor.startswith(_AFTER)):
        return None
    start = IdRange.parse(key["ids"]).start if "ids" in key.axes else 0
    return Question(key["country"], max(0, start - 1) if cursor is None else int(cursor.removeprefix(_AFTER)))


def _is_locked(path: str) -> bool:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=_LOCK_SECONDS)) as connection:
        try:
            connection.execute("begin immediate")
        except sqlite3.OperationalError:
            return True
        connection.execute("rollback")
        return False
