"""Phrase spaces on SQLite."""

import sqlite3

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore
from waypost.sharing.phrases.store import SpaceRecord

_SQL = load_queries(__package__, "phrase_spaces.sql")


class SqliteSpaceStore(SqliteStore):
    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        wanted = {"language": language, "theme": theme or "", "vocabulary": vocabulary, "key": key}

        def work(tx: sqlite3.Connection) -> SpaceRecord:
            tx.execute(_SQL["open"], wanted)
            row = tx.execute(_SQL["space"], wanted).fetchone()
            return SpaceRecord(row["id"], row["key"])

        return await self._database.write(work)

    async def reserve(self, space: int, count: int, most: int) -> range:
        wanted = {"id": space, "count": count, "most": most}
        row = await self._database.write(lambda tx: tx.execute(_SQL["reserve"], wanted).fetchone())
        return range(row["first"], min(row["first"] + count, most)) if row else range(0)
