"""PgQueuer: large batches both ways, on asyncpg; by default it takes ten at a time."""

from collections.abc import Callable
from typing import Any

import asyncpg
from pgqueuer import PgQueuer, Queries

_BATCH = 1000


class PgQueuerSystem:
    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    async def open(self) -> None:
        self._connection = await asyncpg.connect(self._url)

    async def install(self) -> None:
        await self.open()
        await Queries.from_asyncpg_connection(self._connection).install()

    async def enqueue(self, count: int) -> None:
        queries = Queries.from_asyncpg_connection(self._connection)
        if count == 1:
            await queries.enqueue("noop", None)
        else:
            await queries.enqueue(["noop"] * count, [None] * count, [0] * count)

    async def is_finished(self) -> bool:
        # What is done moves to its log.
        return not await self._connection.fetchval("select exists (select from pgqueuer)")

    async def work(self, on_start: Callable[[], None]) -> None:
        queue = PgQueuer.from_asyncpg_connection(self._connection)

        async def noop(_job: object) -> None:
            on_start()

        queue.entrypoint("noop")(noop)
        await queue.run(batch_size=_BATCH)


make = PgQueuerSystem
