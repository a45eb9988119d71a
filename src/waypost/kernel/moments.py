"""Moments as people write them: ISO 8601, in UTC where no offset is given."""

from datetime import UTC, datetime

# Whatever is added to or taken from such a moment stays within what a datetime can say.
_FIRST, _LAST = 1900, 9000


def read_moment(text: str) -> datetime:
    """`2026-02-21T12:00:00+01:00`, `2026-02-21 12:00`, or `2026-02-21` for its first moment. Raises ValueError."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return in_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except ValueError:
        raise ValueError(f"{text[:40]!r} is not a moment; write it like 2026-02-21T12:00:00Z, or 2026-02-21") from None


def in_utc(moment: datetime) -> datetime:
    """The same moment, with an offset of zero. Raises ValueError where no store could keep it."""
    if not _FIRST <= moment.year <= _LAST:
        raise ValueError(f"the year is from {_FIRST} to {_LAST}")
    return moment.astimezone(UTC)
