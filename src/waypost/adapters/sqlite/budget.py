"""A budget on SQLite, for all processes of one machine."""

import asyncio
import sqlite3
import time
from collections.abc import Mapping, Sequence

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase
from waypost.scaling.ratelimit.budget import BudgetExhausted
from waypost.scaling.ratelimit.limits import Limit, reserve
from waypost.telemetry.metrics import BUDGET_WAIT_SECONDS

_SQL = load_queries(__package__, "budget.sql")


class SqliteBudget:
    """`limits` are given per provider: the part of a budget's key before the colon."""

    def __init__(self, database: SqliteDatabase, limits: Mapping[str, Sequence[Limit]]) -> None:
        self._database = database
        self._limits = limits

    async def acquire(self, key: str, *, cost: int = 1, max_wait: float | None = None) -> None:
        provider = key.partition(":")[0]
        limits = self._limits[provider]

        def work(tx: sqlite3.Connection) -> float:
            wait = _reserve(tx, key, limits, cost)
            if max_wait is not None and wait > max_wait:
                # Raised inside the transaction, so that nothing is taken.
                raise BudgetExhausted(
                    f"the budget of {provider} has no turn within {max_wait:.0f} s", retry_in=wait - max_wait
                )
            return wait

        wait = await self._database.write(work)
        BUDGET_WAIT_SECONDS.labels(provider).observe(wait)
        if wait > 0:
            await asyncio.sleep(wait)

    async def penalise(self, key: str, retry_after: float) -> None:
        penalty = {"key": key, "until": time.time() + retry_after}
        await self._database.write(lambda tx: tx.execute(_SQL["penalise"], penalty).rowcount)


def _reserve(tx: sqlite3.Connection, key: str, limits: Sequence[Limit], cost: int) -> float:
    """Move the limits' arrival times forward; returns the seconds until this caller's turn."""
    now = time.time()
    known = {row["limit_name"]: row["arrival"] for row in tx.execute(_SQL["arrivals"], {"key": key})}
    penalty = tx.execute(_SQL["penalty"], {"key": key}).fetchone()
    arrivals = [known.get(limit.name, 0.0) for limit in limits]
    taken = reserve(limits, arrivals, now=now, not_before=penalty["until"] if penalty else 0.0, cost=cost)
    tx.executemany(
        _SQL["set_arrival"],
        [
            {"key": key, "limit_name": limit.name, "arrival": arrival}
            for limit, arrival in zip(limits, taken.arrivals, strict=True)
        ],
    )
    return taken.at - now
