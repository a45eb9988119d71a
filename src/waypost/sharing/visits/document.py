"""The statistics of a link's visits, as people and scripts see them: over HTTP and from commands."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from waypost.sharing.visits.statistics import Statistics, StatisticsQuestion, Value
from waypost.sharing.visits.store import Bucket, Step

Count = Annotated[int, Meta(ge=0)]


class Series(msgspec.Struct, frozen=True):
    """Has only buckets in which something happened; `at` is where each begins."""

    step: Step
    zone: str
    buckets: Sequence[Bucket]


class StatisticsDocument(msgspec.Struct, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """`visits` are those by people; `visitors` are distinct people, each counted once a day; bots count separately."""

    phrase: str
    start: datetime
    end: datetime
    as_of: datetime
    visits: Count
    visitors: Count
    bots: Count
    series: Series
    referrers: Sequence[Value]
    browsers: Sequence[Value]
    devices: Sequence[Value]
    systems: Sequence[Value]
    languages: Sequence[Value]
    countries: Sequence[Value]


def show_statistics(phrase: str, asked: StatisticsQuestion, counted: Statistics) -> StatisticsDocument:
    same = {name: getattr(counted, name) for name in Statistics.__struct_fields__ if name != "buckets"}
    return StatisticsDocument(
        phrase=phrase,
        start=asked.start or asked.created_at,
        end=asked.end or asked.as_of or asked.now,
        as_of=asked.as_of or asked.now,
        series=Series(asked.step, str(asked.zone), counted.buckets),
        **same,
    )
