"""Where reports of abuse are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from waypost.sharing.reports.report import AbuseReport, ReportOutcome, ReportStatus


class WantedReports(msgspec.Struct, frozen=True, kw_only=True):
    """Which reports to list; None means all."""

    status: ReportStatus | None = None
    link_id: str | None = None


class ReportStore(Protocol):
    async def add(self, report: AbuseReport) -> bool:
        """Keep a new report. False, and nothing kept, while MOST_OPEN_OF_LINK of its link are open.

        Of all reports MOST_REPORTS are kept: the oldest that is closed goes, and without one the new report is not
        kept either.
        """
        ...

    async def get(self, id: str) -> AbuseReport | None: ...  # noqa: A002 - it is what it is

    async def page(self, wanted: WantedReports, after: str, limit: int) -> Sequence[AbuseReport]:
        """Reports whose ids come after `after`, oldest first, at most `limit`."""
        ...

    async def close(self, link_id: str, id: str | None, outcome: ReportOutcome, at: datetime, by: str) -> int:  # noqa: A002 - it is what it is
        """Close one open report of a link, or all of them; returns how many were open."""
        ...

    async def count_open(self) -> int: ...
