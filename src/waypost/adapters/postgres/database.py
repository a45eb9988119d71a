"""One PostgreSQL database: a small pool of connections, and a schema that is refused when it does not fit."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Self, TypeVar

import asyncpg

from waypost.adapters.postgres.connecting import PostgresConnector, read_address, with_parameters
from waypost.adapters.postgres.errors import translated
from waypost.adapters.postgres.migrations import migrate, refuse_unless_current
from waypost.adapters.postgres.wakeups import Wakeups
from waypost.kernel.configuration import SettingError

Result = TypeVar("Result")

_CONNECT_SECONDS = 10.0
# Well below a lease, so that a renewal whose answer never comes can be tried again in time.
_COMMAND_SECONDS = 10.0
_CLOSE_SECONDS = 5.0
_STATEMENT_CACHE = "statement_cache_size"


class PostgresDatabase:
    """Belongs to the event loop it was opened in; another thread opens its own."""

    # Whether notifications reach us.
    hears: bool

    def __init__(self, url: str, pool_size: int) -> None:
        with _misspelt():
            address, parameters = read_address(url)
            cache = int(parameters.pop(_STATEMENT_CACHE, "100"))
        self.hears = bool(cache)
        self._name = address.name
        self._connector = PostgresConnector(
            with_parameters(address, parameters), address.hosts, _CONNECT_SECONDS, _driver_options(cache)
        )
        self._pool = asyncpg.create_pool(
            connect=self._connector.connect,
            min_size=1,
            max_size=pool_size,
            # The driver's own reset is a round trip after each statement. We leave no session state behind, and it
            # rolls a forgotten transaction back even so.
            reset=_leave_as_it_is,
        )
        self._wakeups: list[Wakeups] = []

    @classmethod
    async def open(cls, url: str, *, migrating: bool, pool_size: int = 4) -> Self:
        """Connects to a schema that fits: an older one is brought up to date when `migrating`, and refused otherwise.

        The URL is PostgreSQL's own, and may name several hosts. With `statement_cache_size=0` in its query it may lead
        to a pooler that shares connections between transactions, such as PgBouncer; there notifications do not
        arrive, and we poll.
        """
        database = cls(url, pool_size)
        try:
            await database.run(migrate if migrating else refuse_unless_current)
        except BaseException:
            await database.close()
            raise
        return database

    async def run(self, work: Callable[[Any], Awaitable[Result]]) -> Result:
        """Runs `work` on a connection; opens the pool first, if need be."""
        async with self._bordered():
            with _misspelt():
                await self._pool
            async with self._pool.acquire() as connection:
                return await work(connection)

    async def fetch(self, sql: str, *arguments: object, timeout: float = _COMMAND_SECONDS) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""
        async with self._bordered(), self._pool.acquire(timeout=_CONNECT_SECONDS) as connection:
            rows: list[Any] = await connection.fetch(sql, *arguments, timeout=timeout)
            return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """Yields a connection inside a transaction, which is kept as a whole or not at all."""
        acquired = self._pool.acquire(timeout=_CONNECT_SECONDS)
        async with self._bordered(), acquired as connection, connection.transaction():
            yield connection

    def listen(self, channel: str) -> Wakeups:
        wakeups = Wakeups(self._connect, channel)
        self._wakeups.append(wakeups)
        return wakeups

    async def close(self) -> None:
        await asyncio.gather(*(wakeups.close() for wakeups in self._wakeups))
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _connect(self) -> Any:
        """A connection outside the pool."""
        with translated(self._name):
            return await self._connector.connect()

    @asynccontextmanager
    async def _bordered(self) -> AsyncIterator[None]:
        with translated(self._name):
            try:
                yield
            except asyncpg.ReadOnlySQLTransactionError:
                # It is no longer the primary, and none of the open connections leads to the new one.
                await self._pool.expire_connections()
                raise


class PostgresStore:
    """What every store in this database begins with."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database


async def run_once(url: str, work: Callable[[Any], Awaitable[Result]]) -> Result:
    """Runs `work` on a connection of its own, whatever the schema: for callers that inspect or change it."""
    database = PostgresDatabase(url, pool_size=1)
    try:
        return await database.run(work)
    finally:
        await database.close()


async def server_time(connection: Any) -> datetime:
    now: datetime = await connection.fetchval("select clock_timestamp()")
    return now


@contextmanager
def _misspelt() -> Iterator[None]:
    """What the driver says about a URL may quote a part that is the password, so we do not repeat it."""
    try:
        yield
    except ValueError:
        raise SettingError(
            "this is not the URL of a PostgreSQL, or has an unknown option;"
            " write it like postgresql://user:password@host:5432/database",
            next_step="see WAYPOST_STORE and WAYPOST_JOBS: waypost config show",
        ) from None


async def _leave_as_it_is(_connection: Any) -> None:
    pass


def _driver_options(cache: int) -> dict[str, Any]:
    options: dict[str, Any] = {_STATEMENT_CACHE: cache, "command_timeout": _COMMAND_SECONDS}
    if cache:
        # Compiling a statement takes longer than running any of ours. Each of ours has an index to go by; but a plan
        # that was made while a table was empty reads and sorts all of it, until the table is analysed.
        # (A pooler refuses a connection that sets anything.)
        options["server_settings"] = {"jit": "off", "enable_seqscan": "off", "enable_sort": "off"}
    return options
