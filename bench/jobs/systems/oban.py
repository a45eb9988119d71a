"""Oban for Python: one queue with a high limit; it acknowledges in batches."""

import asyncio
from collections.abc import Callable
from typing import Any

from oban import Oban, worker
from oban.schema import install

_LIMIT = 1000
_on_start: list[Callable[[], None]] = [lambda: None]


class Noop:
    async def process(self, _job: object) -> None:
        _on_start[0]()


_noop: Any = worker(queue="bench")(Noop)


class ObanSystem:
    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None
        self._client: Any = None

    async def open(self) -> None:
        self._pool = await Oban.create_pool(self._url, min_size=2, max_size=10)
        self._client = Oban(pool=self._pool)

    async def install(self) -> None:
        await self.open()
        await install(self._pool)

    async def enqueue(self, count: int) -> None:
        await self._client.enqueue_many([_noop.new({}) for _ in range(count)])

    async def is_finished(self) -> bool:
        async with self._pool.connection() as connection:
            found = await connection.execute(
                "select exists (select from oban_jobs where state in ('available', 'executing'))"
            )
            return not (await found.fetchone())[0]

    async def work(self, on_start: Callable[[], None]) -> None:
        _on_start[0] = on_start
        async with Oban(pool=self._pool, queues={"bench": _LIMIT}):
            await asyncio.Event().wait()


make = ObanSystem
