"""A report of abuse: what somebody wrote about a link, and what was done about it."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from waypost.kernel.errors import NotFound
from waypost.kernel.ids import new_id
from waypost.sharing.links.link import Link

LONGEST_REPORT = 1000
# A flood must not fill the store, and nobody reads the twenty-first complaint about a link.
MOST_OPEN_OF_LINK = 20
MOST_REPORTS = 10_000

ReportStatus = Literal["open", "closed"]
# `disabled`: the link was; `dismissed`: nothing was done.
ReportOutcome = Literal["disabled", "dismissed"]


class UnknownReport(NotFound):
    """No report has this id."""


class AbuseReport(msgspec.Struct, frozen=True, kw_only=True):
    """`phrase`, `target` and `disabled` are the link's now. `closed_by` is named as in a link's history."""

    id: str
    link_id: str
    phrase: str
    target: str
    disabled: bool
    at: datetime
    text: str
    closed_at: datetime | None = None
    closed_by: str | None = None
    outcome: ReportOutcome | None = None


class ReportClosing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a report is answered."""

    disable: Annotated[bool, Meta(description="disable the link too, and close all its reports")] = False


def new_report(link: Link, text: str, now: datetime) -> AbuseReport:
    """`text` is as `printable` returns it."""
    return AbuseReport(
        id=str(new_id()),
        link_id=link.id,
        phrase=link.phrase,
        target=link.target,
        disabled=link.disabled,
        at=now,
        text=text,
    )


def printable(text: str) -> str:
    """The text as one bounded line that is safe to print: strangers write it, and terminals show it."""
    words = " ".join(text[:LONGEST_REPORT].split())
    return "".join(letter for letter in words if letter.isprintable())
