"""The versions of all places and tombstones, asked of the database itself: no port of ours tells them."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import asyncpg
from pymongo import AsyncMongoClient


class Known(NamedTuple):
    version: int
    is_removed: bool


async def read_versions(url: str) -> Mapping[str, Known]:
    """By external id."""
    match url.partition(":")[0]:
        case "sqlite":
            return _by_id(_from_sqlite(url.removeprefix("sqlite:///")))
        case "mongodb":
            return _by_id(await _from_mongodb(url))
        case _:
            return _by_id(await _from_postgres(url))


def _by_id(rows: Iterable[tuple[str, int, bool]]) -> Mapping[str, Known]:
    return {external_id: Known(version, bool(is_removed)) for external_id, version, is_removed in rows}


_SQL = "select external_id, version, removed_at is not null from places"


def _from_sqlite(path: str) -> list[tuple[str, int, bool]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(_SQL).fetchall()


async def _from_postgres(url: str) -> list[tuple[str, int, bool]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(_SQL)]
    finally:
        await connection.close()


async def _from_mongodb(url: str) -> list[tuple[str, int, bool]]:
    async with AsyncMongoClient[dict[str, Any]](url) as client:
        places = client.get_default_database().places.find({}, {"version": 1, "removed_at": 1})
        return [(place["_id"], place["version"], place["removed_at"] is not None) async for place in places]
