"""The statistics of a link's visits, over a span and as of a moment."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from waypost.kernel.errors import AskedWrongly
from waypost.sharing.visits.store import Bucket, Span, Step, VisitStore

_HOUR = timedelta(hours=1)
_MOMENT = timedelta(microseconds=1)
# More hours than anybody looks at; days need no limit, since even an old link has few.
_LONGEST_BY_HOUR = timedelta(days=400)


class SpanTooLong(AskedWrongly):
    """A series would have more buckets than one answer may have."""

    slug = "span-too-long"


class ZoneRefused(AskedWrongly):
    """Days of this zone do not begin on an hour of UTC, and visits are counted by hours of UTC."""

    slug = "zone-refused"


class StatisticsQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """`created_at` is the link's: before it there is nothing to count. `limit` is per dimension."""

    created_at: datetime
    now: datetime
    as_of: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    step: Step = "day"
    zone: tzinfo = UTC
    limit: int = 10

    @property
    def span(self) -> Span:
        # A visit at that very moment counts.
        ends = [end for end in (self.end, self.as_of + _MOMENT if self.as_of else None) if end is not None]
        return Span(self.start, min(ends, default=None))


class Value(msgspec.Struct, frozen=True):
    """A referrer, a browser and so on, and its visits; the value is empty where it is not known."""

    value: str
    visits: int


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    visits: int
    visitors: int
    bots: int
    buckets: Sequence[Bucket]
    referrers: Sequence[Value]
    browsers: Sequence[Value]
    devices: Sequence[Value]
    systems: Sequence[Value]
    languages: Sequence[Value]
    countries: Sequence[Value]


async def count_visits(store: VisitStore, link_id: str, asked: StatisticsQuestion) -> Statistics:
    """Counts a link's visits. Raises SpanTooLong and ZoneRefused."""
    _refuse_long(asked)
    in_days = asked.step == "day" and asked.zone is not UTC
    buckets = await store.series(link_id, asked.span, "hour" if in_days else asked.step)
    _refuse_odd_hours(asked, buckets)
    counted = await store.totals(link_id, asked.span)

    async def top(dimension: str) -> Sequence[Value]:
        return [Value(*each) for each in await store.top(link_id, asked.span, dimension, asked.limit)]

    return Statistics(
        visits=counted.visits,
        visitors=counted.visitors,
        bots=counted.bots,
        buckets=_by_day(buckets, asked.zone) if in_days else _shown_in(buckets, asked.zone),
        referrers=await top("referrer"),
        browsers=await top("browser"),
        devices=await top("device"),
        systems=await top("system"),
        languages=await top("language"),
        countries=await top("country"),
    )


def _refuse_long(asked: StatisticsQuestion) -> None:
    start = max(asked.start or asked.created_at, asked.created_at)
    if asked.step == "hour" and min(asked.span.end or asked.now, asked.now) - start > _LONGEST_BY_HOUR:
        raise SpanTooLong(
            f"a series by the hour has at most {_LONGEST_BY_HOUR.days} days; say from and to, or ask for days",
            parameter="from",
        )


def _refuse_odd_hours(asked: StatisticsQuestion, buckets: Iterable[Bucket]) -> None:
    if asked.zone is UTC:
        return
    for moment in (asked.start or asked.created_at, asked.span.end or asked.now, *(bucket.at for bucket in buckets)):
        offset = moment.astimezone(asked.zone).utcoffset()
        if offset is None or offset % _HOUR:
            raise ZoneRefused(
                f"{asked.zone} is not whole hours from UTC then, and visits are counted by hours of UTC; "
                "leave zone out, or take one that is",
                parameter="zone",
            )


def _shown_in(buckets: Sequence[Bucket], zone: tzinfo) -> Sequence[Bucket]:
    if zone is UTC:
        return buckets
    return [Bucket(bucket.at.astimezone(zone), bucket.visits, bucket.bots) for bucket in buckets]


def _by_day(hours: Iterable[Bucket], zone: tzinfo) -> list[Bucket]:
    """Sums hours up to days of a zone; hours come in order, and so do the days."""
    days: dict[datetime, tuple[int, int]] = {}
    for hour in hours:
        local = hour.at.astimezone(zone)
        # Midnight by the local clock, with the offset of that midnight.
        day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        visits, bots = days.get(day, (0, 0))
        days[day] = visits + hour.visits, bots + hour.bots
    return [Bucket(day, visits, bots) for day, (visits, bots) in days.items()]
