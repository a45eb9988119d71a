"""Reports of abuse on SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, from_us_or_none
from waypost.kernel.clock import from_us, to_us
from waypost.sharing.reports.report import MOST_OPEN_OF_LINK, MOST_REPORTS, AbuseReport, ReportOutcome
from waypost.sharing.reports.store import WantedReports

_SQL = load_queries(__package__, "reports.sql")


class SqliteReportStore(SqliteStore):
    async def add(self, report: AbuseReport) -> bool:
        row = {"id": report.id, "link_id": report.link_id, "at": to_us(report.at), "text": report.text}
        bounds = {"most": MOST_REPORTS, "most_of_link": MOST_OPEN_OF_LINK}

        def work(tx: sqlite3.Connection) -> bool:
            tx.execute(_SQL["make_room"], bounds)
            return tx.execute(_SQL["add"], row | bounds).rowcount == 1

        return await self._database.write(work)

    async def get(self, id: str) -> AbuseReport | None:  # noqa: A002 - as the port has it
        row = await self._database.read(lambda c: c.execute(_SQL["get"], {"id": id}).fetchone())
        return _to_report(row) if row else None

    async def page(self, wanted: WantedReports, after: str, limit: int) -> Sequence[AbuseReport]:
        conditions = [_SQL[f"where_{wanted.status}"]] if wanted.status else []
        if wanted.link_id is not None:
            conditions.append(_SQL["where_link"])
        sql = _SQL["page"].replace("{conditions}", "\n".join(conditions))
        asked = {"after": after, "limit": limit, "link_id": wanted.link_id}
        return [_to_report(row) for row in await self._database.read(lambda c: c.execute(sql, asked).fetchall())]

    async def close(self, link_id: str, id: str | None, outcome: ReportOutcome, at: datetime, by: str) -> int:  # noqa: A002 - as the port has it
        closing = {"link_id": link_id, "id": id, "outcome": outcome, "at": to_us(at), "by": by}
        return await self._database.write(lambda tx: tx.execute(_SQL["close"], closing).rowcount)

    async def count_open(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["count_open"]).fetchone()["reports"]))


def _to_report(row: sqlite3.Row) -> AbuseReport:
    known = {name: row[name] for name in AbuseReport.__struct_fields__}
    times = {"at": from_us(row["at"]), "closed_at": from_us_or_none(row["closed_at"])}
    return AbuseReport(**{**known, **times, "disabled": bool(row["disabled"])})
