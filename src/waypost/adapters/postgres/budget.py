"""Budgets on PostgreSQL: the record is locked while we compute, and the server's clock decides."""

from collections.abc import Sequence
from typing import Any

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.scaling.ratelimit.records import Change, Result

_SQL = load_queries(__package__, "budget.sql")


class PostgresBudgetRecords:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def change(self, names: Sequence[str], change: Change[Result]) -> Result:
        async with self._database.transaction() as tx:
            rows = await tx.fetch(_SQL["lock"], names)
            if len(rows) < len(names):
                await tx.execute(_SQL["make"], names)
                rows = await tx.fetch(_SQL["lock"], names)
            texts, result = change(_texts(rows, names), max(int(row["now"]) for row in rows))
            await tx.execute(_SQL["keep"], names, list(texts))
        return result

    async def read(self, names: Sequence[str]) -> tuple[Sequence[bytes | None], int]:
        rows = await self._database.fetch(_SQL["read"], names)
        return _texts(rows, names), int(rows[0]["now"])


def _texts(rows: Sequence[Any], names: Sequence[str]) -> list[bytes | None]:
    found = {row["name"]: row["record"] for row in rows}
    return [found.get(name) for name in names]
