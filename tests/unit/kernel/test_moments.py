"""Moments as people write them."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kernel.moments import read_moment

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["2026-02-21T12:00:00Z", "2026-02-21T13:00:00+01:00", "2026-02-21 12:00", "20260221T120000", " 2026-02-21T12Z "],
)
def test_a_moment_may_be_written_in_many_ways(text: str) -> None:
    assert read_moment(text) == NOON


def test_a_day_is_its_first_moment() -> None:
    assert read_moment("2026-02-21") == NOON - timedelta(hours=12)


@pytest.mark.parametrize(
    "text", ["", "noon", "2026-02-30", "0001-01-01", "9999-12-31T23:59:59-12:00", "1.5", "2026-02-21T25:00", "\0"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a moment"):
        read_moment(text)


OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=OFFSETS).filter(lambda moment: 1900 < moment.year < 9000))
def test_what_is_written_is_what_is_read(moment: datetime) -> None:
    assert read_moment(moment.isoformat()) == moment


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert read_moment(text).tzinfo is UTC
