"""Time zones by their names."""

import re
from datetime import UTC, timezone
from zoneinfo import ZoneInfo

LONGEST_ZONE = 64
_NAME = re.compile(r"[A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+){0,2}")


def read_zone(text: str) -> ZoneInfo | timezone:
    """Finds a zone by its name alone: what a client writes must not name any other file."""
    if text == "UTC":
        return UTC
    try:
        if len(text) <= LONGEST_ZONE and _NAME.fullmatch(text):
            return ZoneInfo(text)
    except (ValueError, OSError, KeyError):
        pass
    raise ValueError(f"{text[:40]!r} is not a time zone; write it like Europe/Berlin, or UTC")
