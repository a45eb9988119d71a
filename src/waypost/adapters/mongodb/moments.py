"""Times to the microsecond, as whole numbers: MongoDB's own dates end at milliseconds, which would turn two requests
that were sent one after the other into a tie.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# The store's clock, for updates. As a number it counts milliseconds.
NOW_US: dict[str, Any] = {"$multiply": [{"$toLong": "$$NOW"}, 1000]}


def to_us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
