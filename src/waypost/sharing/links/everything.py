"""All that is kept about one link, line by line: for its owner, who may ask for it and take it elsewhere."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

import msgspec

from waypost.sharing.links.document import show_edit, show_link
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkStore
from waypost.sharing.reports.operations import all_reports
from waypost.sharing.reports.store import ReportStore, WantedReports
from waypost.sharing.visits.store import Span, VisitStore

_EDITS_AT_A_TIME = 100


class KeptLine(msgspec.Struct, frozen=True):
    """One thing that is kept. `data` is as other answers show it: the link, an edit, an event that waits in the
    outbox, a report, a visit, or what was counted of visits.
    """

    kind: Literal["link", "edit", "event", "report", "visit", "count"]
    data: Any


class KeptLink(msgspec.Struct, frozen=True):
    """`taken` are the visits that a limited link has used up."""

    link: Any
    deleted: bool
    taken: int


async def everything(
    link: Link, base_url: str, links: LinkStore, visits: VisitStore, reports: ReportStore | None
) -> AsyncIterator[bytes]:
    """Yields JSON lines, some at a time. Reports are for administrators: without `reports` they are left out."""
    counted = await visits.count([link.id])
    shown = show_link(link, base_url, counted.get(link.id, 0))
    yield _lines("link", [KeptLink(shown, link.deleted, await links.taken(link.id))])
    after = 0
    while edits := await links.history(link.id, after, _EDITS_AT_A_TIME):
        yield _lines("edit", map(show_edit, edits))
        after = edits[-1].version
    yield _lines("event", await links.events(link.id))
    async for batch in _batches(link, visits, reports):
        yield batch


async def _batches(link: Link, visits: VisitStore, reports: ReportStore | None) -> AsyncIterator[bytes]:
    if reports is not None:
        async for some in all_reports(reports, WantedReports(link_id=link.id)):
            yield _lines("report", some)
    async for seen in visits.events(link.id, Span()):
        yield _lines("visit", seen)
    async for counts in visits.counts(link.id):
        yield _lines("count", counts)


def _lines(kind: Literal["link", "edit", "event", "report", "visit", "count"], things: Iterable[Any]) -> bytes:
    return b"".join(msgspec.json.encode(KeptLine(kind, each)) + b"\n" for each in things)
