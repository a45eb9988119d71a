"""Many observations at once say the same as one after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import Histogram

from waypost.telemetry.metrics import ManyHistogram

BUCKETS = (0.001, 0.01, 0.1)
AMOUNTS = st.lists(st.sampled_from([0.0, 0.0005, *BUCKETS, 0.05, 7.0]) | st.floats(0, 10))


def samples(histogram: Histogram) -> dict[tuple[str, str], float]:
    return {
        (sample.name, sample.labels.get("le", "")): sample.value
        for family in histogram.collect()
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


@given(amounts=AMOUNTS)
def test_many_at_once_are_counted_as_one_by_one(amounts: list[float]) -> None:
    many = ManyHistogram("seconds", "", ["route"], buckets=BUCKETS, registry=CollectorRegistry())
    single = Histogram("seconds", "", ["route"], buckets=BUCKETS, registry=CollectorRegistry())
    many.labels("/").observe_many(amounts)
    single.labels("/")
    for amount in amounts:
        single.labels("/").observe(amount)
    assert samples(many) == pytest.approx(samples(single))
