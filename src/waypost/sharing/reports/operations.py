"""Listing reports of abuse, and answering them."""

from collections.abc import AsyncIterator, Sequence

from waypost.kernel.clock import utc_now
from waypost.sharing.links import editing
from waypost.sharing.links.link import Changes
from waypost.sharing.links.store import LinkStore
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.reports.report import AbuseReport, UnknownReport
from waypost.sharing.reports.store import ReportStore, WantedReports

_AT_A_TIME = 1000


async def show_report(reports: ReportStore, id: str) -> AbuseReport:  # noqa: A002 - it is what it is
    report = await reports.get(id)
    if report is None:
        raise UnknownReport(f"there is no report {id[:80]!r}", next_step="waypost report list")
    return report


async def close_report(
    reports: ReportStore,
    links: LinkStore,
    id: str,  # noqa: A002 - it is what it is
    by: str,
    *,
    disable: bool,
) -> AbuseReport:
    """Closes a report; with `disable` also its link, and all reports of that link. Closed twice, the first counts."""
    report = await show_report(reports, id)
    if disable:
        link = await links.get(report.link_id)
        if link is not None and not link.deleted:
            await editing.edit(links, TargetRules(), link, Changes(disabled=True), by, is_admin=True)
        await reports.close(report.link_id, None, "disabled", utc_now(), by)
    else:
        await reports.close(report.link_id, report.id, "dismissed", utc_now(), by)
    return await show_report(reports, id)


async def all_reports(reports: ReportStore, wanted: WantedReports) -> AsyncIterator[Sequence[AbuseReport]]:
    """Yields all reports, oldest first, a batch at a time."""
    after = ""
    while page := await reports.page(wanted, after, _AT_A_TIME):
        yield page
        after = page[-1].id
