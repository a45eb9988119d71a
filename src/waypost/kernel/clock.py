"""Two clocks: one for what is written down, one for deadlines."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DEADLINE_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def utc_now() -> datetime:
    return datetime.now(UTC)


# Seconds on a clock that never steps and, on Linux, runs while the machine sleeps, as leases elsewhere do.
# Not a function of ours: the hot paths ask it twice a request.
monotonic: Callable[[], float] = partial(time.clock_gettime, _DEADLINE_CLOCK)


def to_text(moment: datetime) -> str:
    """The one form in which times are shown and stored as text: UTC, with an offset, to the microsecond at most."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """The reverse of `to_text`; a time without an offset is refused rather than guessed."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset; write it like 2026-02-21T00:00:00Z")
    return moment.astimezone(UTC)


def to_us(moment: datetime) -> int:
    """Microseconds since 1970: the form for stores whose own times are text, or end at milliseconds."""
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND
