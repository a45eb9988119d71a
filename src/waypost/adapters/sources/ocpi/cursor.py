"""Cursors of the OCPI source.

They are `at:<read>:<total>:/path?…` (a link that the provider gave), `offset:<read>:<total>:<check>:/path` where it
gave none, or, on the way from the versions, `version:/path` and `locations:/path`: each request is a page of its own,
so that each has its turn in the budget. `read` is how many locations came so far, and `total` how many there are by
`X-Total-Count`; it is empty if there was no such header.
"""

import re

import msgspec

from waypost.adapters.sources.paging import RecordTally
from waypost.importing.source import BadCursor

_FORM = re.compile(r"(?:(at)|offset):(\d{1,18}):(\d{1,18})?:(?(1)|([0-9a-f]*):)(/.*)", re.ASCII | re.DOTALL)


class PageLink(msgspec.Struct, frozen=True):
    """What came before the page, and where the provider says that it is."""

    tally: RecordTally
    address: str

    def __str__(self) -> str:
        """Without a total, how many came does not matter, and links in a circle are noticed by their cursors."""
        told = RecordTally(0, None) if self.tally.total is None else self.tally
        return f"at:{_told(told)}:{self.address}"


class Offset(msgspec.Struct, frozen=True):
    """What came before the page, a digest of the page before it, and where all locations are."""

    tally: RecordTally
    check: str
    locations: str

    def __str__(self) -> str:
        return f"offset:{_told(self.tally)}:{self.check}:{self.locations}"


def parse(cursor: str) -> PageLink | Offset:
    match = _FORM.fullmatch(cursor)
    if not match:
        raise bad_cursor(cursor)
    tally = RecordTally(int(match[2]), int(match[3]) if match[3] else None)
    return PageLink(tally, match[5]) if match[1] else Offset(tally, match[4], match[5])


def before_page(position: PageLink | Offset) -> RecordTally | None:
    """What came before a page; None for the first one."""
    return None if isinstance(position, Offset) and not position.check else position.tally


def bad_cursor(cursor: str) -> BadCursor:
    return BadCursor(f"{cursor[:80]!r} is not a cursor of this release's ocpi source")


def _told(tally: RecordTally) -> str:
    return f"{tally.read}:{'' if tally.total is None else tally.total}"
