"""One SQLite file: a thread with a connection for writing, another for reading, migrations at the start."""

import asyncio
import random
import sqlite3
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Self, TypeVar

from waypost.adapters.errors import StoreBusy
from waypost.adapters.sqlite.errors import StoreNotWritable, primary_code, translate
from waypost.adapters.sqlite.migrations import migrate
from waypost.kernel.clock import from_us

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

_BUSY_SECONDS = 10.0
_SCRUB_AGAIN_SECONDS = 0.05


class SqliteDatabase:
    """Work is handed to it as functions of a connection; what they do in `write` is one transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = _Lane(path)
        self._reader = _Lane(path)

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Opens the database and brings its schema up to date; makes the file and its folder if they are missing."""
        database = cls(path)
        try:
            database.make_folder()
            await database.run(migrate)
        except BaseException:
            database.close()
            raise
        return database

    def make_folder(self) -> None:
        try:
            # Phrase keys are in there: what we make is for this user alone.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreNotWritable(
                f"the folder {self.path.parent} cannot be made: {error.strerror}",
                next_step="choose another folder with --data or WAYPOST_DATA",
            ) from error

    async def write(self, work: Work[Result]) -> Result:
        """Runs one transaction that takes the write lock before it reads anything; all of it is kept, or nothing."""

        def transaction(connection: sqlite3.Connection) -> Result:
            connection.execute("begin immediate")
            try:
                result = work(connection)
                # Freed by another thread, a cursor resets a statement that this one may be using by then.
                assert not isinstance(result, sqlite3.Cursor)
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise
            return result

        return await self._writer.run(transaction)

    async def read(self, work: Work[Result]) -> Result:
        return await self._reader.run(work)

    async def run(self, work: Work[Result]) -> Result:
        """Runs `work` on the writing connection, but without a transaction around it."""
        return await self._writer.run(work)

    async def scrub(self) -> bool:
        """Lets go of the write-ahead log, which holds what was deleted; false while others keep reading from it.

        In the database itself nothing is left of it: see `secure_delete`.
        """
        give_up_at = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                busy = await self.run(lambda c: bool(c.execute("pragma wal_checkpoint(truncate)").fetchone()[0]))
            except StoreBusy:
                busy = True
            if not busy or time.monotonic() >= give_up_at:
                return not busy
            await asyncio.sleep(_SCRUB_AGAIN_SECONDS)

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


class SqliteStore:
    """What every store in this database begins with."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def _rows(self, sql: str, values: Mapping[str, object]) -> list[sqlite3.Row]:
        return await self._database.read(lambda connection: connection.execute(sql, values).fetchall())

    async def _change(self, sql: str, values: Mapping[str, object]) -> int:
        """Runs one statement as a transaction; returns how many rows it changed."""
        return await self._database.write(lambda tx: tx.execute(sql, values).rowcount)


class _Lane:
    """A thread with a connection of its own, opened when first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite")
        self._connection: sqlite3.Connection | None = None
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing

    async def run(self, work: Work[Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, work)

    def close(self) -> None:
        self._thread.submit(self._close)
        self._thread.shutdown(wait=True)

    def _run(self, work: Work[Result]) -> Result:
        try:
            return self._retry_while_busy(work)
        except sqlite3.Error as error:
            ours = translate(error, self._path)
            if ours is None:
                raise
            raise ours from error

    def _retry_while_busy(self, work: Work[Result]) -> Result:
        # SQLite's own busy handler sleeps in fixed steps and starves some processes for many seconds; jitter does not.
        give_up_at = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return work(self._connected())
            except sqlite3.OperationalError as error:
                if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up_at:
                    raise
                time.sleep(self._rng.uniform(0.001, 0.02))

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None, timeout=0, check_same_thread=False)
            try:
                connection.row_factory = sqlite3.Row
                connection.execute("pragma journal_mode = wal")
                # Full: what was acknowledged survives a power cut too, not only a kill.
                connection.execute("pragma synchronous = full")
                connection.execute("pragma foreign_keys = on")
                connection.execute("pragma temp_store = memory")
                # What is deleted is overwritten by zeros, also where pages were split and moved: an owner who erases
                # a link's visits can rely on it.
                connection.execute("pragma secure_delete = on")
                # SQLite's own function knows only the letters a to z.
                connection.create_function("lowered", 1, str.lower, deterministic=True)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def now_us() -> int:
    """The store's clock: SQLite lives in this process, so the machine's clock is the store's."""
    return time.time_ns() // 1000


def seconds(value: float) -> int:
    return round(value * 1_000_000)


def from_us_or_none(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)
