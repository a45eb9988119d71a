"""The budget that all processes that ask a provider share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from waypost.adapters.sqlite.budget import SqliteBudgetRecords
from waypost.bootstrap.databases import SQLITE, extra, open_postgres, open_redis, open_sqlite
from waypost.scaling.ratelimit.budget import Budget, BudgetStore
from waypost.scaling.ratelimit.record_budget_store import RecordBudgetStore
from waypost.scaling.ratelimit.shared_budget import SharedBudget
from waypost.settings import REDIS_SCHEMES, Settings, StorageSettings, is_mongodb
from waypost.telemetry.logs import get_logger

log = get_logger("budget")


@asynccontextmanager
async def open_budget(settings: Settings, *, must_exist: bool = False) -> AsyncIterator[Budget]:
    """Opens the budget where all who share it can reach it: in Redis, else beside the jobs, else in the store."""
    async with (
        _open_budget_store(_budget_url(settings.storage), must_exist=must_exist) as store,
        SharedBudget(store, settings.budget.rules, when_away=settings.budget.when_away) as budget,
    ):
        yield budget


def _budget_url(storage: StorageSettings) -> str:
    # There are no budgets in MongoDB.
    own_file = f"{SQLITE}{storage.folder / 'budgets.db'}"
    choices = (storage.redis, storage.jobs, storage.store_url, own_file)
    url = next(url for url in choices if url and not is_mongodb(url))
    if url.startswith(SQLITE) and is_mongodb(storage.jobs or storage.store_url):
        log.warning("the budget is this machine's alone", next_step="set WAYPOST_REDIS to share it")
    return url


@asynccontextmanager
async def _open_budget_store(url: str, *, must_exist: bool) -> AsyncIterator[BudgetStore]:
    async with AsyncExitStack() as stack:
        match url.partition(":")[0]:
            case scheme if scheme in REDIS_SCHEMES:
                with extra("redis"):
                    from waypost.adapters.redis.budget import RedisBudgetStore
                yield RedisBudgetStore(await open_redis(url, stack))
            case "postgresql" | "postgres":
                with extra("postgres"):
                    from waypost.adapters.postgres.budget import PostgresBudgetRecords
                yield RecordBudgetStore(PostgresBudgetRecords(await open_postgres(url, stack)))
            case _:
                sqlite = await open_sqlite(url, "store", stack, must_exist=must_exist)
                yield RecordBudgetStore(SqliteBudgetRecords(sqlite))
