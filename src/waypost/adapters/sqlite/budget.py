"""Budgets on SQLite, for all processes of one machine: the machine's clock is the store's."""

import sqlite3
from collections.abc import Sequence

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, now_us
from waypost.scaling.ratelimit.record_budget_store import Change, Result

_SQL = load_queries(__package__, "budget.sql")


class SqliteBudgetRecords(SqliteStore):
    async def change(self, names: Sequence[str], change: Change[Result]) -> Result:
        def work(tx: sqlite3.Connection) -> Result:
            texts, result = change(_read(tx, names), now_us())
            tx.executemany(_SQL["keep"], [(name, text) for name, text in zip(names, texts, strict=True)])
            return result

        return await self._database.write(work)

    async def read(self, names: Sequence[str]) -> tuple[Sequence[bytes | None], int]:
        return await self._database.read(lambda tx: _read(tx, names)), now_us()


def _read(tx: sqlite3.Connection, names: Sequence[str]) -> list[bytes | None]:
    rows = (tx.execute(_SQL["get"], (name,)).fetchone() for name in names)
    return [row["record"] if row else None for row in rows]
