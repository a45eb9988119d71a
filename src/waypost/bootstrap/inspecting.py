"""How a store stands that somebody has configured, asked without changing or making anything."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime

from waypost.bootstrap.databases import extra, open_redis
from waypost.bootstrap.schema import look_into_sqlite, mongo
from waypost.kernel.clock import monotonic, utc_now
from waypost.settings import REDIS_SCHEMES


@dataclass(frozen=True)
class ClockDifference:
    """How many seconds the store's clock is ahead of ours; asking took so long that it may be `unsure` more or less."""

    ahead: float
    unsure: float


@dataclass(frozen=True)
class StoreState:
    """A store that answered. A file has no clock of its own; Redis has no schema, and only Redis evicts."""

    schema: int | None = None
    pending: tuple[str, ...] = ()
    # Whether the next process that opens it brings its schema up to date.
    migrates_itself: bool = False
    clock: ClockDifference | None = None
    # What Redis does when its memory is full, wherever its servers differ; None when we may not ask.
    eviction: tuple[str, ...] | None = ()


async def inspect_store(url: str, setting: str) -> StoreState:
    """Raises what is wrong: it is away, refuses us, or is not a store."""
    match url.partition(":")[0]:
        case "postgresql" | "postgres":
            return await _inspect_postgres(url)
        case "mongodb" | "mongodb+srv" if setting != "analytics":
            async with mongo(url) as database:
                schema, pending = await database.schema_status()
                return StoreState(schema, pending, clock=await _compare(database.server_time))
        case scheme if scheme in REDIS_SCHEMES and setting in {"jobs", "redis"}:
            return await _inspect_redis(url)
        case _:
            schema, missing = await look_into_sqlite(url, setting)
            return StoreState(schema, tuple(step.name for step in missing), migrates_itself=True)


async def _inspect_postgres(url: str) -> StoreState:
    with extra("postgres"):
        from waypost.adapters.postgres.database import run_once, server_time
        from waypost.adapters.postgres.migrations import pending

    async def look(connection: object) -> StoreState:
        version, missing = await pending(connection)
        clock = await _compare(lambda: server_time(connection))
        return StoreState(version, tuple(step.name for step in missing), clock=clock)

    return await run_once(url, look)


async def _inspect_redis(url: str) -> StoreState:
    async with AsyncExitStack() as stack:
        client = await open_redis(url, stack)
        return StoreState(clock=await _compare(client.server_time), eviction=await client.eviction_policies())


async def _compare(ask: Callable[[], Awaitable[datetime]]) -> ClockDifference:
    """The store read its clock at some moment while we waited: most likely in the middle."""
    asked, started = utc_now(), monotonic()
    there = await ask()
    took = monotonic() - started
    return ClockDifference((there - asked).total_seconds() - took / 2, took / 2)
