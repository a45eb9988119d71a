"""Facts on SQLite."""

from waypost.adapters.sqlite.database import SqliteStore

_GET = "select value from facts where name = :name"
_LEARN = "insert into facts (name, value) values (:name, :new) on conflict (name) do nothing"
_SET = "insert into facts (name, value) values (:name, :new) on conflict (name) do update set value = excluded.value"
_REPLACE = "update facts set value = :new where name = :name and value = :old"


class SqliteFacts(SqliteStore):
    async def get(self, name: str) -> str | None:
        rows = await self._rows(_GET, {"name": name})
        return rows[0]["value"] if rows else None

    async def set(self, name: str, value: str) -> None:
        await self._change(_SET, {"name": name, "new": value})

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        sql = _LEARN if old is None else _REPLACE
        return await self._change(sql, {"name": name, "old": old, "new": new}) == 1
