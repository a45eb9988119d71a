"""How one step of the schema is taken, without holding up those who work meanwhile.

A statement that waits for a lock on a table blocks all that come after it. So no step waits long: it gives up, lets the
others through, and tries again. Once it has its locks it may not keep them long either. The first line of a file says
which kind of step it is:

    (anything else)    all statements in one transaction
    -- concurrently    one statement outside of a transaction, such as `create index concurrently if not exists`, which
                       holds nobody up; done again when it was broken off
    -- in bites        one statement that changes some rows at a time, each time a transaction, until it changes none
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import asyncpg

from waypost.adapters.errors import StoreBusy
from waypost.kernel.backoff import full_jitter

# The longest that others have to wait behind a step that waits for its lock, and for a statement that has it.
LOCK_SECONDS, HOLD_SECONDS = 1, 5
# Building an index beside the work takes as long as it takes.
_BUILD_SECONDS = 6 * 3600.0
# "waypost" in ASCII: the lock that every process takes to change the schema.
_LOCK = int.from_bytes(b"waypost")
_TRIES = 300
_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_CONCURRENTLY, _IN_BITES = "-- concurrently", "-- in bites"
# What the server says when two processes change one row of its own tables; it has no code for that.
_TOGETHER = "tuple concurrently updated"
_INDEX = re.compile(r"create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)", re.IGNORECASE)


class Record(Protocol):
    """Where it is written down that the step was taken."""

    async def is_written(self, connection: Any) -> bool: ...

    async def write(self, connection: Any) -> None: ...


async def take(connection: Any, sql: str, record: Record) -> bool:
    """Takes the step and writes it down, unless another process has; returns whether we did."""
    kind = sql.partition("\n")[0].strip()
    if kind == _CONCURRENTLY:
        # Two that build the same index wait for each other, and the server breaks one of them off.
        await _patiently(lambda: _concurrently(connection, sql))
    elif kind == _IN_BITES:
        while await _patiently(lambda: _bite(connection, sql)):
            pass
    together = "" if kind in {_CONCURRENTLY, _IN_BITES} else sql
    return bool(await _patiently(lambda: _together(connection, together, record)))


async def _together(connection: Any, sql: str, record: Record) -> bool:
    async with connection.transaction():
        await _bound(connection)
        # Another process may have done it while we waited for the lock.
        if await record.is_written(connection):
            return False
        if sql:
            await connection.execute(sql)
        await record.write(connection)
        return True


async def _bite(connection: Any, sql: str) -> int:
    """Returns how many rows were changed."""
    async with connection.transaction():
        await _bound(connection)
        status: str = await connection.execute(sql)
    return int(status.rpartition(" ")[2])


async def _bound(connection: Any) -> None:
    await connection.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
    await connection.execute(f"set local statement_timeout = '{HOLD_SECONDS}s'")
    # Held to the end of the transaction, so that it also works behind a pooler that shares connections.
    await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)


async def _concurrently(connection: Any, sql: str) -> None:
    if named := _INDEX.search(sql):
        await _drop_broken(connection, named[1])
    await connection.execute(sql, timeout=_BUILD_SECONDS)


async def _drop_broken(connection: Any, index: str) -> None:
    """Drops an index whose building was broken off: it answers nothing, and `if not exists` would leave it so.

    One that another process is building looks the same; dropping it has to wait, and at the next look it is whole.
    """
    broken = "select 1 from pg_index where indexrelid = to_regclass($1) and not indisvalid"
    if await connection.fetchval(broken, index):
        async with connection.transaction():
            await _bound(connection)
            await connection.execute(f"drop index if exists {index}")


async def _patiently(attempt: Callable[[], Awaitable[Any]]) -> Any:
    """Tries until it gets its locks; between two tries, those who had to wait behind it go on."""
    rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
    for tried in range(1, _TRIES):
        try:
            return await attempt()
        except (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError, asyncpg.InternalServerError) as error:
            if isinstance(error, asyncpg.InternalServerError) and _TOGETHER not in str(error):
                raise
            await asyncio.sleep(full_jitter(tried, base=_PAUSE, cap=_LONGEST_PAUSE, rng=rng))
    raise StoreBusy(
        "a step of the schema never got its lock: another session holds a table all the time",
        next_step="look for long transactions in pg_stat_activity, then run `waypost db migrate` again",
    )
