"""What a provider says in headers about how often it may be asked.

Retry-After comes with a refusal. What is left of an allowance comes with any answer, in the standard's form
(`RateLimit: "name";r=50;t=30`), its drafts' forms, or the customary `X-RateLimit-Remaining` and `-Reset`.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from waypost.scaling.ratelimit.budget import Advice

# Thirty years: a pause is kept in full, however long, but no number breaks the arithmetic.
_LONGEST = 1e9
_LONGEST_AGE = 86_400.0
# A count of seconds larger than the first is a time since 1970, and larger than the second, one in milliseconds.
_UNIX_SECONDS, _UNIX_MILLISECONDS = 1e9, 1e12


def told_at(headers: Mapping[str, str], now: datetime) -> datetime:
    """What time it is by the provider's clock: the answer's `Date` and `Age`, or else `now`.

    Its clock and ours may be minutes apart, and only a difference on one of them is a time to wait.
    """
    age = headers.get("Age", "").strip()
    passed = timedelta(seconds=min(_LONGEST_AGE, float(age))) if _is_number(age) else timedelta()
    try:
        told = parsedate_to_datetime(headers.get("Date", ""))
        return told.replace(tzinfo=told.tzinfo or UTC) + passed
    except (ValueError, OverflowError):
        return now


def parse_retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds from either form of the header; None if neither can be read."""
    if text is None:
        return None
    if _is_number(text.strip()):
        return min(_LONGEST, float(text))
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    return min(_LONGEST, max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()))


def parse_advice(headers: Mapping[str, str], now: datetime) -> Advice | None:
    """The tightest of what an answer says is left; None if it says nothing that can be read."""
    found = [_advice(remaining, reset, now) for remaining, reset in _stated(headers)]
    return min((each for each in found if each), key=lambda each: each.remaining / (each.reset or 1), default=None)


def _stated(headers: Mapping[str, str]) -> list[tuple[str | None, str | None]]:
    stated = [
        (headers.get(f"{prefix}Remaining"), headers.get(f"{prefix}Reset")) for prefix in ("RateLimit-", "X-RateLimit-")
    ]
    whole = headers.get("RateLimit", "")[:1000]
    if "remaining=" in whole:  # an early draft: one policy, all in one list
        return [*stated, (_parameter("remaining", whole), _parameter("reset", whole))]
    return [*stated, *((_parameter("r", policy), _parameter("t", policy)) for policy in whole.split(","))]


def _parameter(name: str, text: str) -> str | None:
    match = re.search(rf"(?:^|[;,\s]){name}=(\d+)", text)
    return match[1] if match else None


def _advice(remaining: str | None, reset: str | None, now: datetime) -> Advice | None:
    if remaining is None or reset is None or not (_is_number(remaining.strip()) and _is_number(reset.strip())):
        return None
    seconds = float(reset)
    if seconds >= _UNIX_SECONDS:
        seconds = seconds / (1000 if seconds >= _UNIX_MILLISECONDS else 1) - now.timestamp()
    return Advice(int(min(_LONGEST, float(remaining))), min(_LONGEST, seconds)) if seconds > 0 else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,19}", text) is not None
