"""A private PostGIS with the places, for those who serve from it: it may use every core."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from bench.jobs.database import Database, Server, durable_postgres
from bench.places.reading import read

_DATABASE = "places"
_MAKE = """
create extension postgis;
create unlogged table arrived (
  id uuid, external_id text, source text, name text, country text, address text, operator text, categories text,
  status text, attributes text, provider_updated_at timestamptz, lon float8, lat float8
);
"""
# Geometries are ordered along a Hilbert curve: neighbours lie together.
_ARRANGE = """
create table places as
select id, external_id, source, name, country, address::jsonb as address, operator, categories::jsonb as categories,
  status, attributes::jsonb as attributes, provider_updated_at, st_setsrid(st_makepoint(lon, lat), 4326) as geom
from arrived order by geom;
drop table arrived;
alter table places add primary key (id), alter column geom type geometry(point, 4326);
create index on places using gist (geom);
create index on places (name text_pattern_ops);
alter database places set jit = off;
alter database places set random_page_cost = 1.1;
"""


@contextmanager
def postgis(path: Path) -> Iterator[Database]:
    """With the places of this file."""
    with durable_postgres() as server:
        yield _filled(server, path)


def _filled(server: Server, path: Path) -> Database:
    database = server.new_database(_DATABASE)
    asyncio.run(_fill(database.client_url, path))
    database.value("vacuum (analyze)")
    return database


async def _fill(url: str, path: Path) -> None:
    connection = await asyncpg.connect(url, command_timeout=3600)
    try:
        await connection.execute(_MAKE)
        await connection.copy_records_to_table("arrived", records=_rows(path))
        await connection.execute("set maintenance_work_mem = '512MB'; set work_mem = '512MB'")
        await connection.execute(_ARRANGE)
    finally:
        await connection.close()


def _rows(path: Path) -> Iterator[tuple[Any, ...]]:
    for _, feature in read(path):
        told = feature.properties
        kept = [told.external_id, told.source, told.name, told.country, _text(told.address), told.operator]
        more = [_text(told.categories), told.status, _text(told.attributes), told.provider_updated_at]
        yield feature.id, *kept, *more, *feature.position


def _text(raw: bytes) -> str:
    return str(raw, "utf-8")
