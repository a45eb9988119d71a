"""Reports of abuse on PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.sharing.reports.report import MOST_OPEN_OF_LINK, MOST_REPORTS, AbuseReport, ReportOutcome
from waypost.sharing.reports.store import WantedReports

SQL = load_queries(__package__, "reports.sql")


class PostgresReportStore(PostgresStore):
    async def add(self, report: AbuseReport) -> bool:
        row = report.id, report.link_id, report.at, report.text
        async with self._database.transaction() as tx:
            await tx.execute(SQL["make_room"], MOST_REPORTS)
            return bool(await tx.fetch(SQL["add"], *row, MOST_REPORTS, MOST_OPEN_OF_LINK))

    async def get(self, id: str) -> AbuseReport | None:  # noqa: A002 - as the port has it
        rows = await self._database.fetch(SQL["get"], id)
        return _to_report(rows[0]) if rows else None

    async def page(self, wanted: WantedReports, after: str, limit: int) -> Sequence[AbuseReport]:
        condition = SQL[f"where_{wanted.status}"] if wanted.status else ""
        sql = SQL["page"].replace("{conditions}", condition)
        return [_to_report(row) for row in await self._database.fetch(sql, after, limit, wanted.link_id)]

    async def close(self, link_id: str, id: str | None, outcome: ReportOutcome, at: datetime, by: str) -> int:  # noqa: A002 - as the port has it
        return len(await self._database.fetch(SQL["close"], link_id, id, at, by, outcome))

    async def count_open(self) -> int:
        [row] = await self._database.fetch(SQL["count_open"])
        return int(row["reports"])


def _to_report(row: Any) -> AbuseReport:
    return AbuseReport(**{name: row[name] for name in AbuseReport.__struct_fields__})
