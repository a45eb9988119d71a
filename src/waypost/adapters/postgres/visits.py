"""Visits on PostgreSQL."""

from collections.abc import Sequence

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.sharing.visits.visit import Visit

SQL = load_queries(__package__, "visits.sql")


class PostgresVisitStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def append(self, visits: Sequence[Visit]) -> None:
        columns = ([visit.id for visit in visits], [visit.link_id for visit in visits], [visit.at for visit in visits])
        await self._database.fetch(SQL["add"], *columns)

    async def count(self, link_id: str) -> int:
        [row] = await self._database.fetch(SQL["count"], link_id)
        return int(row["visits"])
