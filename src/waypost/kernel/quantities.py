"""Quantities as people write them: counts, durations, sizes and switches."""

import re
from collections.abc import Callable

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "day": 86400}
# Far more than anybody waits, and far from the end of the calendar.
_LONGEST = 1e9
_DAY = 86400.0
_BYTES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def parse_duration(text: str) -> float:
    """Seconds from `250ms`, `30s`, `10m`, `1h` or `2d`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|day)", text.strip())
    if not match or not 0 < float(match[1]) < _LONGEST:
        raise ValueError(f"{text[:40]!r} is not a duration; write it like 30s, 250ms, 10m or 1h")
    return float(match[1]) * _SECONDS[match[2]]


def parse_duration_between(shortest: str, longest: str) -> Callable[[str], float]:
    """A reader of durations between two bounds, which are written as durations are."""
    least, most = parse_duration(shortest), parse_duration(longest)

    def read(text: str) -> float:
        seconds = parse_duration(text)
        if not least <= seconds <= most:
            raise ValueError(f"{text[:40]!r} is not from {shortest} to {longest}")
        return seconds

    return read


def parse_share(text: str) -> float:
    """A share of something, more than nothing and at most all of it, from `25%` or `0.25`."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,6})?)\s*(%?)", text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{text[:40]!r} is not a share; write it like 25% or 0.25, up to 100%")
    return share


def parse_size(text: str) -> int:
    """Bytes from `512`, `64k`, `32MiB` or `1g`."""
    match = re.fullmatch(r"(\d+)\s*([kmg]?)(?:i?b)?", text.strip().lower())
    if not match or int(match[1]) == 0:
        raise ValueError(f"{text!r} is not a size; write it like 64k, 32m or 1g")
    return int(match[1]) * _BYTES[match[2]]


def parse_count(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers between two bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,18}", text.strip()) or not least <= int(text) <= most:
            raise ValueError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return read


def parse_switch(text: str) -> bool:
    if text.strip() not in {"on", "off"}:
        raise ValueError(f"{text[:40]!r} is neither on nor off")
    return text.strip() == "on"


def parse_retention(text: str) -> float | None:
    """How many seconds something is kept, a day at least; None, from an empty text, means for ever."""
    if not text.strip():
        return None
    kept = parse_duration(text)
    if kept < _DAY:
        raise ValueError(f"{text[:40]!r} is shorter than a day; write it like 30d, or leave it empty")
    return kept
