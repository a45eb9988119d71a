"""Values of parameters as they stand in an address: one reader for each kind, raising ValueError with what is wrong."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import get_args

from waypost.kernel.clock import from_text
from waypost.kernel.folding import words
from waypost.places.place import Status
from waypost.serving.format import is_generation_name
from waypost.serving.reading.boxes import on_earth

STATUSES: tuple[str, ...] = get_args(Status)
LONGEST_VALUE = 200
# Half the way around the Earth, in metres: nothing is farther away.
FARTHEST = 20_040_000
LAST_ROW = 2**32 - 1

_DIGITS = re.compile(r"\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(_DATE.pattern + r"[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_COUNTRY = re.compile(r"[A-Za-z]{2}", re.ASCII)
_DAY = timedelta(days=1) - timedelta(microseconds=1)
_OPEN = {"", ".."}

Interval = tuple[datetime | None, datetime | None]


def number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number")
    return float(text)


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        # Numbers with very many digits take long to read, and are all too large.
        if not _DIGITS.fullmatch(text) or not least <= (value := int(text[:20])) <= most:
            raise ValueError(f"{text[:40]!r} is not a whole number from {least} to {most}")
        return value

    return read


def limit(most: int) -> Callable[[str], int]:
    """A value above `most` is lowered to it, as OGC API Features asks for."""

    def read(text: str) -> int:
        if not _DIGITS.fullmatch(text) or not int(text[:20]):
            raise ValueError(f"{text[:40]!r} is not a whole number from 1 on")
        return min(int(text[:20]), most)

    return read


def between(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:
            raise ValueError(f"{text[:40]!r} is not from {least:g} to {most:g}")
        return value

    return read


def position(text: str) -> tuple[float, float]:
    parts = text.split(",")
    if len(parts) != 2:  # noqa: PLR2004 - latitude and longitude
        raise ValueError("write it as latitude,longitude: near=52.52,13.40")
    lat, lon = number(parts[0]), number(parts[1])
    if not on_earth(lon, lat):
        raise ValueError(f"{lat:g},{lon:g} is not on Earth; write the latitude first")
    return lat, lon


def country(text: str) -> str:
    if not _COUNTRY.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a country's code of two letters, such as DE")
    return text.upper()


def choice(of: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in of:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(of)}")
        return text

    return read


def text(given: str) -> str:
    if not given or "\0" in given:
        raise ValueError("it is empty" if not given else "it has a character that no place has")
    return given


def search(given: str) -> str:
    if not words(given):
        raise ValueError("there is neither a letter nor a digit to search for")
    return given


def generation(given: str) -> str:
    if not is_generation_name(given):
        raise ValueError(f"{given[:40]!r} is not the name of a generation")
    return given


def interval(given: str) -> Interval:
    """Reads an instant, or two with a slash between them, one of which may be open; a date stands for the whole day."""
    start, slash, end = given.partition("/")
    if not slash:
        return _moments(start)
    if start in _OPEN and end in _OPEN:
        raise ValueError("an interval has an end or a beginning: 2026-02-01T00:00:00Z/..")
    since = None if start in _OPEN else _moments(start)[0]
    until = None if end in _OPEN else _moments(end)[1]
    if since and until and since > until:
        raise ValueError("the interval ends before it begins")
    return since, until


def _moments(given: str) -> tuple[datetime, datetime]:
    try:
        if _DATE.fullmatch(given):
            day = datetime.fromisoformat(given).replace(tzinfo=UTC)
            return day, day + _DAY
        # `fromisoformat` also takes weeks, and times without separators.
        moment = from_text(given.upper() if _TIME.fullmatch(given) else "")
    except (ValueError, OverflowError):
        raise ValueError(f"{given[:40]!r} is not a time; write it like 2026-02-21T12:00:00Z") from None
    return moment, moment
