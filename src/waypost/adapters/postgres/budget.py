"""Budgets on PostgreSQL: the record is locked while we compute, and the server's clock decides."""

import asyncio
from collections.abc import Sequence
from typing import Any

from waypost.adapters.postgres.database import PostgresDatabase, PostgresStore
from waypost.adapters.queries import load_queries
from waypost.scaling.ratelimit.record_budget_store import Change, Result

SQL = load_queries(__package__, "budget.sql")


class PostgresBudgetRecords(PostgresStore):
    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        # A process that is stopped costs the others one wait, and not one for each change that it has under way: those
        # would get the lock one after the other, with nobody there to go on.
        self._alone = asyncio.Lock()

    async def change(self, names: Sequence[str], change: Change[Result]) -> Result:
        async with self._alone, self._database.transaction() as tx:
            rows = await tx.fetch(SQL["lock"], names)
            if len(rows) < len(names):
                await tx.execute(SQL["make"], names)
                rows = await tx.fetch(SQL["lock"], names)
            texts, result = change(_texts(rows, names), max(int(row["now"]) for row in rows))
            await tx.execute(SQL["keep"], names, list(texts))
        return result

    async def read(self, names: Sequence[str]) -> tuple[Sequence[bytes | None], int]:
        rows = await self._database.fetch(SQL["read"], names)
        return _texts(rows, names), int(rows[0]["now"])


def _texts(rows: Sequence[Any], names: Sequence[str]) -> list[bytes | None]:
    found = {row["name"]: row["record"] for row in rows}
    return [found.get(name) for name in names]
