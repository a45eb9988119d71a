"""Moments and spans as they stand in an address."""

import re
from datetime import UTC, datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

from waypost.kernel.moments import read_moment
from waypost.web.places.parameters import BadParameter, Parameter

LONGEST_ZONE = 64
_TEXT = {"type": "string", "minLength": 1, "maxLength": 40}
# An unquoted plus in an address is a space.
_LOST_PLUS = re.compile(r"(?<=[0-9]) (?=[0-9]{2}:?[0-9]{2}$)")
_NAME = re.compile(r"[A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+){0,2}")


def moment(text: str) -> datetime:
    return read_moment(_LOST_PLUS.sub("+", text) if "T" in text else text)


def zone(text: str) -> ZoneInfo | timezone:
    """By its name alone: what a client writes must not name a file anywhere else."""
    if text == "UTC":
        return UTC
    try:
        if len(text) <= LONGEST_ZONE and _NAME.fullmatch(text):
            return ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        pass
    raise ValueError(f"{text[:40]!r} is no time zone; write it like Europe/Berlin, or UTC")


FROM = Parameter("from", "from this moment on, such as 2026-02-21 or 2026-02-21T12:00:00Z", _TEXT, moment)
TO = Parameter("to", "until just before this moment", _TEXT, moment)


def check_order(values: dict[str, Any]) -> None:
    if "from" in values and "to" in values and values["from"] > values["to"]:
        raise BadParameter("from: it is later than to; change the two around", parameter="from")
