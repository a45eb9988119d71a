"""Counts the reports of abuse that are open, for a metric."""

from waypost.scaling.repeating import repeat
from waypost.sharing.reports.store import ReportStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import ABUSE_REPORTS_OPEN

log = get_logger("links")

_EVERY_SECONDS = 15.0


async def keep_counting(reports: ReportStore) -> None:
    """Counts every quarter of a minute until cancelled."""

    async def count() -> None:
        ABUSE_REPORTS_OPEN.set(await reports.count_open())

    await repeat(count, _EVERY_SECONDS, log=log, failing="open reports are not counted for now")
