"""The job store, in the store that keeps everything else or in one of its own."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from waypost.adapters.sqlite.jobs import SqliteJobStore
from waypost.bootstrap.databases import extra, open_mongo, open_postgres, open_redis, open_sqlite
from waypost.importing.pages import PageStore
from waypost.kernel.configuration import SettingError
from waypost.scaling.jobs.store import JobStore
from waypost.settings import REDIS_SCHEMES, Settings


class _ApartPageStore(PageStore, Protocol):
    """A page store whose jobs are kept in another store."""

    async def highest_fence(self) -> int: ...


async def open_jobs_apart(
    settings: Settings, stack: AsyncExitStack, make_pages: Callable[[JobStore], _ApartPageStore]
) -> tuple[JobStore, PageStore]:
    jobs = await stack.enter_async_context(open_job_store(settings.storage.jobs))
    pages = make_pages(jobs)
    # A job store that was flushed or restored must not give fences that the places have seen already.
    await jobs.raise_fences(await pages.highest_fence())
    return jobs, pages


def open_jobs(settings: Settings) -> AbstractAsyncContextManager[JobStore]:
    """Jobs on a connection of their own, for the thread that renews leases."""
    return open_job_store(settings.storage.jobs or settings.storage.store_url)


@asynccontextmanager
async def open_job_store(url: str, *, migrating: bool = False) -> AsyncIterator[JobStore]:
    """The job store at this address. On a server, its schema is changed only when `migrating`."""
    async with AsyncExitStack() as stack:
        match url.partition(":")[0]:
            case "sqlite":
                yield SqliteJobStore(await open_sqlite(url, "jobs", stack))
            case "postgresql" | "postgres":
                with extra("postgres"):
                    from waypost.adapters.postgres.jobs import PostgresJobStore
                yield PostgresJobStore(await open_postgres(url, stack, migrating=migrating))
            case "mongodb" | "mongodb+srv":
                with extra("mongodb"):
                    from waypost.adapters.mongodb.jobs import MongoJobStore
                yield MongoJobStore(await open_mongo(url, stack, migrating=migrating))
            case scheme if scheme in REDIS_SCHEMES:
                with extra("redis"):
                    from waypost.adapters.redis.jobs import RedisJobStore
                yield RedisJobStore(await open_redis(url, stack))
            case scheme:
                raise SettingError(
                    f"jobs: there is no adapter for {scheme[:40]!r}; there is postgresql, mongodb, redis and sqlite",
                    parameter="jobs",
                )
