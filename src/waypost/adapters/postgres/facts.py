"""Facts on PostgreSQL."""

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries

SQL = load_queries(__package__, "facts.sql")


class PostgresFacts(PostgresStore):
    async def get(self, name: str) -> str | None:
        rows = await self._database.fetch(SQL["get"], name)
        return rows[0]["value"] if rows else None

    async def set(self, name: str, value: str) -> None:
        await self._database.fetch(SQL["set"], name, value)

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        if old is None:
            return bool(await self._database.fetch(SQL["learn"], name, new))
        return bool(await self._database.fetch(SQL["replace"], name, old, new))
