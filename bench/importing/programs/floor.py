"""The floor: what is left of an import without jobs, leases, fences, a budget, places made of records, or deletions."""

import asyncio
import sys
import time

import asyncpg
import httpx
import msgspec
import uvloop
import xxhash

from bench.importing.asking import AT_ONCE, Ask, parameters

_INSTALL = """
create table if not exists places (external_id bigint primary key, record bytea not null, content_hash bytea not null)
"""
_WRITE = """
insert into places (external_id, record, content_hash)
select * from unnest($1::bigint[], $2::bytea[], $3::bytea[])
on conflict (external_id) do update set record = excluded.record, content_hash = excluded.content_hash
where places.content_hash <> excluded.content_hash
"""


class _Record(msgspec.Struct, rename={"id": "ID"}):
    id: int


_array = msgspec.json.Decoder(list[msgspec.Raw])
_record = msgspec.json.Decoder(_Record)


class Floor:
    def __init__(self, url: str, countries: list[str], store: str) -> None:
        self._http = httpx.AsyncClient(base_url=url, headers={"Accept-Encoding": "gzip"}, timeout=60, trust_env=False)
        self._left = iter(countries)
        self._store = store
        self._places = 0

    async def run(self) -> int:
        async with self._http:
            await asyncio.gather(*(self._work() for _ in range(AT_ONCE)))
        return self._places

    async def _work(self) -> None:
        connection = await asyncpg.connect(self._store, server_settings={"jit": "off"})
        try:
            for country in self._left:
                await self._bring(country, connection)
        finally:
            await connection.close()

    async def _bring(self, country: str, connection: asyncpg.Connection) -> None:
        after = 0
        while True:
            answer = await self._http.get("/v3/poi", params=parameters(Ask(country, after)))
            records = _array.decode(answer.raise_for_status().content)
            if not records:
                return
            ids = [_record.decode(raw).id for raw in records]
            await connection.execute(_WRITE, ids, records, [xxhash.xxh3_128_digest(raw) for raw in records])
            self._places += len(records)
            after = ids[-1]


async def _main(url: str, countries: str, store: str) -> None:
    connection = await asyncpg.connect(store)
    await connection.execute(_INSTALL)
    await connection.close()
    began = time.monotonic()
    places = await Floor(url, countries.split(","), store).run()
    print(msgspec.json.encode({"places": places, "seconds": time.monotonic() - began}).decode())


if __name__ == "__main__":
    uvloop.run(_main(*sys.argv[1:4]))
