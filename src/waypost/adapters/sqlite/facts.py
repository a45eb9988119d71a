"""Facts on SQLite."""

from waypost.adapters.sqlite.database import SqliteStore


class SqliteFacts(SqliteStore):
    async def get(self, name: str) -> str | None:
        row = await self._database.read(
            lambda c: c.execute("select value from facts where name = ?", (name,)).fetchone()
        )
        return row["value"] if row else None

    async def set(self, name: str, value: str) -> None:
        sql = "insert into facts (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
        await self._database.write(lambda tx: tx.execute(sql, (name, value)).rowcount)

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        if old is None:
            sql, row = "insert into facts (name, value) values (?, ?) on conflict (name) do nothing", (name, new)
            return await self._database.write(lambda tx: tx.execute(sql, row).rowcount) == 1
        sql, change = "update facts set value = ? where name = ? and value = ?", (new, name, old)
        return await self._database.write(lambda tx: tx.execute(sql, change).rowcount) == 1
