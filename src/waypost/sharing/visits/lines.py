"""Visits as lines of the spool, put together from parts: on the redirect path, making and encoding each visit from
scratch would take longer than writing it down.
"""

import itertools
import secrets
from datetime import UTC, datetime

import msgspec

from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer, ShownByBrowser

_DAY = 86_400.0
_MICROSECONDS = 1_000_000
# Statistics ask for days around a visit, in any zone: those have to be in the calendar as well.
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_NUL = b"\\u0000"

_decode = msgspec.json.Decoder(Visit).decode


class VisitLines:
    """Makes the lines that the spool would make of the observer's visits; their ids have a prefix of their own."""

    def __init__(self, observer: Observer) -> None:
        self._visit = observer.visit
        self._prefix = secrets.token_hex(8).encode()
        self._numbers = itertools.count()
        self._second, self._written_second = -1, b""

    def ending(self, at: float, address: str, shown: ShownByBrowser) -> bytes:
        """The part of a line after the time: valid for every link this visitor follows on the same day (UTC)."""
        visit = self._visit("", datetime.fromtimestamp(at, UTC), address, shown)
        start = msgspec.json.encode(Visit(visit.id, visit.link_id, visit.at)).removesuffix(b'"}')
        return msgspec.json.encode(visit).removeprefix(start) + b"\n"

    def line(self, link_id: bytes, at: float, ending: bytes) -> bytes:
        """A whole line. `link_id` is as in JSON, without quotes; `at` is in seconds since 1970."""
        second = int(at)
        if second != self._second:
            self._second = second
            self._written_second = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()
        return b'{"id":"%b-%x","link_id":"%b","at":"%b.%06dZ%b' % (
            self._prefix,
            next(self._numbers),
            link_id,
            self._written_second,
            (at - second) * _MICROSECONDS,
            ending,
        )


def read_line(line: bytes) -> Visit:
    """The visit of a line; a ValueError says why it cannot be counted, without quoting what is in it."""
    try:
        visit = _decode(line)
    except RecursionError:
        raise ValueError("there are too many brackets in it") from None
    if visit.at.tzinfo is None:
        raise ValueError("its time has no offset")
    if not _FIRST <= visit.at < _LAST:
        raise ValueError("its time is out of range")
    if _NUL in line and _has_nul(visit):
        raise ValueError("it has a NUL character")
    return visit


def _has_nul(visit: Visit) -> bool:
    """Whether one is in what is counted. The referrer's path is only kept, and stores drop the character."""
    texts = visit.id, visit.link_id, visit.visitor, visit.referrer_host, visit.agent, visit.language, visit.country
    return any("\0" in text for text in texts)


def day_of(at: float) -> tuple[float, float]:
    """When the day of this moment began (UTC), and when it ends."""
    start = at // _DAY * _DAY
    return start, start + _DAY
