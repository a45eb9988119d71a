"""Counts the reports of abuse that are open, for whoever watches the metrics."""

import asyncio

from waypost.kernel.errors import WaypostError
from waypost.sharing.reports.store import ReportStore
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import ABUSE_REPORTS_OPEN

log = get_logger("links")

_EVERY_SECONDS = 15.0


async def keep_counting(reports: ReportStore) -> None:
    """Counts every quarter of a minute until cancelled."""
    while True:
        try:
            ABUSE_REPORTS_OPEN.set(await reports.count_open())
        except WaypostError as error:
            log.warning("open reports are not counted for now", error=error.slug, message=str(error))
        await asyncio.sleep(_EVERY_SECONDS)
