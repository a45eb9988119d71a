"""Phrase spaces on PostgreSQL."""

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.sharing.phrases.store import SpaceRecord

SQL = load_queries(__package__, "phrase_spaces.sql")


class PostgresSpaceStore(PostgresStore):
    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        wanted = (language, theme or "", vocabulary)
        found = await self._database.fetch(SQL["space"], *wanted)
        if not found:
            await self._database.fetch(SQL["open"], *wanted, key)
            # Not in the same statement: that would not see the space that another process opened in the meantime.
            found = await self._database.fetch(SQL["space"], *wanted)
        return SpaceRecord(found[0]["id"], found[0]["key"])

    async def reserve(self, space: int, count: int, most: int) -> range:
        rows = await self._database.fetch(SQL["reserve"], space, count, most)
        return range(rows[0]["first"], min(rows[0]["first"] + count, most)) if rows else range(0)
