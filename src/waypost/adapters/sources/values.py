"""Values of a provider's record, however they are written: texts, numbers, countries and times.

Each function raises ValueError, with the reason, for what cannot be understood.
"""
# ruff: noqa: TRY004 - a wrong type is one of many things that can be wrong with somebody else's data

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast, get_args

from waypost.places.countries import country_code
from waypost.places.place import Status

STATUSES = frozenset(get_args(Status))
_SECONDS = re.compile(r"0|\d{9,16}(\.\d+)?", re.ASCII)
# A number of seconds larger than this is one of milliseconds; as seconds, it would be a time after the year 5000.
_MILLISECONDS = 1e11


def filled(text: str | None) -> str | None:
    """Empty strings stand for nothing as often as nulls do."""
    return (text or "").strip() or None


def text_of(found: Any, name: str) -> str | None:
    """A number is a text too, and 7.0 is written 7."""
    if found is None or isinstance(found, str):
        return filled(found)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal):
        raise ValueError(f"{name} is {kind_of(found)}, not a text")
    return str(found)


def texts_of(found: Any, name: str) -> tuple[str, ...]:
    texts = [text_of(each, name) for each in (found if isinstance(found, list) else [found])]
    return tuple(dict.fromkeys(text for text in texts if text))


def number_of(found: Any, name: str) -> float | None:
    if isinstance(found, float) and math.isfinite(found):
        return found
    if found is None or (isinstance(found, str) and not found.strip()):
        return None
    if isinstance(found, bool) or not isinstance(found, str | int | float | Decimal):
        raise ValueError(f"{name} is {kind_of(found)}, not a number")
    try:
        number = float(found)
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} {str(found)[:40]!r} is not a number")
    return number


def kind_of(found: Any) -> str:
    if isinstance(found, bool):
        return str(found).lower()
    return "an object" if isinstance(found, Mapping) else "a list" if isinstance(found, list) else "no text"


def country_of(code: str | None) -> str | None:
    if code is None:
        return None
    if len(code) == 2 and code.isascii() and code.isalpha():  # noqa: PLR2004 - some have codes that ISO lacks
        return code.upper()
    known = country_code(code)
    if known is None:
        raise ValueError(f"country {code[:40]!r} is not a code of two or three letters such as DE")
    return known


def status_of(found: Any) -> Status:
    return cast("Status", found) if isinstance(found, str) and found in STATUSES else "unknown"


def moment_of(found: Any, form: str | None = None) -> datetime | None:
    """Reads a time or a day, or seconds or milliseconds since 1970. What has no zone is taken as UTC."""
    text = found.strip() if isinstance(found, str) else ""
    if text and (form or not _SECONDS.fullmatch(text)):
        try:
            found = datetime.strptime(text, form) if form else datetime.fromisoformat(text)  # noqa: DTZ007 - see below
        except ValueError:
            raise ValueError(f"updated_at {text[:40]!r} is not a time {_like(form)}") from None
    if isinstance(found, datetime):
        return as_utc(found)
    if isinstance(found, date):
        return datetime(found.year, found.month, found.day, tzinfo=UTC)
    seconds = number_of(found, "updated_at")
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds / 1000 if abs(seconds) > _MILLISECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"updated_at {found} is not a time") from None


def wrong_format(form: str) -> str | None:
    """Says what is wrong with a format for reading times, if anything."""
    try:
        datetime.strptime("", form)  # noqa: DTZ007 - nothing is read
    except ValueError as error:
        # An empty text is not a time, which is as it should be.
        if "directive" in str(error) or "stray" in str(error):
            return str(error)
    return None


def as_utc(moment: datetime) -> datetime:
    """Raises ValueError at the end of the calendar, where one zone has a time and another has none."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"the time {moment.isoformat()} is not one in UTC") from None


def _like(form: str | None) -> str:
    return f"like {form}" if form else "such as 2026-02-21T00:00:00Z"
