"""The floor: what is left of a fenced queue without a worker, handlers, renewals, retries or priorities."""

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg

_BATCH = 1000
_INSTALL = """
create sequence fences;
create table jobs (
  id bigserial primary key,
  shard text not null unique,
  status text not null,
  lease_until timestamptz,
  fence bigint not null default 0,
  finished_at timestamptz
) with (fillfactor = 70);
create index jobs_pending on jobs (id) where status = 'pending';
create index jobs_leased on jobs (id) where status = 'leased';
"""
_ENQUEUE = """
with added as (
  insert into jobs (shard, status)
  select 'bench/id:' || gen_random_uuid(), 'pending' from generate_series(1, $1)
  returning id
)
select count(*), pg_notify('floor', '') from added
"""
_CLAIM = """
with chosen as materialized (
  select id from jobs where status = 'pending' order by id limit $1 for no key update skip locked
)
update jobs set status = 'leased', lease_until = now() + interval '30 seconds', fence = nextval('fences')
from chosen where jobs.id = chosen.id
returning jobs.id, jobs.fence
"""
_COMPLETE = """
update jobs set status = 'done', lease_until = null, finished_at = now()
from unnest($1::bigint[], $2::bigint[]) as ack (id, fence)
where jobs.id = ack.id and jobs.fence = ack.fence and jobs.status = 'leased'
"""


class Floor:
    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    async def open(self) -> None:
        self._connection = await asyncpg.connect(self._url, server_settings={"jit": "off"})

    async def install(self) -> None:
        await self.open()
        await self._connection.execute(_INSTALL)

    async def enqueue(self, count: int) -> None:
        await self._connection.fetch(_ENQUEUE, count)

    async def is_finished(self) -> bool:
        found = await self._connection.fetchval(
            "select exists (select from jobs where status in ('pending', 'leased'))"
        )
        return not found

    async def work(self, on_start: Callable[[], None]) -> None:
        news = asyncio.Event()
        await self._connection.add_listener("floor", lambda *_notification: news.set())
        while True:
            news.clear()
            while claimed := await self._connection.fetch(_CLAIM, _BATCH):
                for _ in claimed:
                    on_start()
                await self._connection.execute(_COMPLETE, [row[0] for row in claimed], [row[1] for row in claimed])
            await news.wait()


make = Floor
