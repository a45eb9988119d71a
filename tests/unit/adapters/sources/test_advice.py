"""What providers say in headers about how much they would like to be asked."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.sources.advice import parse_advice, parse_retry_after, told_at
from waypost.scaling.ratelimit.budget import Advice

NOW = datetime(2026, 2, 21, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("Sat, 21 Feb 2026 12:01:00 GMT", 60),
        ("Sat, 21 Feb 2026 13:01:00 +0100", 60),
        ("Sat, 21 Feb 2026 11:00:00 GMT", 0),
        ("Saturday, 21-Feb-26 12:01:30 GMT", 90),
        ("Sat Feb 21 12:01:30 2026", 90),
        ("Sat, 99 Feb 2026 00:00:00 GMT", None),
        ("99999999999", 1e9),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_in_both_forms(text: str | None, seconds: float | None) -> None:
    assert parse_retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "hour"),
    [
        ({"Date": "Sat, 21 Feb 2026 09:00:00 GMT"}, 9),
        ({"Date": "Sat, 21 Feb 2026 09:00:00 GMT", "Age": "3600"}, 10),
        ({"Date": "Sat, 21 Feb 2026 09:00:00 GMT", "Age": "soon"}, 9),
        ({"Date": "Sat Feb 21 09:00:00 2026"}, 9),
        ({"Date": "yesterday"}, 12),
        ({"Date": "Fri, 31 Dec 9999 23:59:59 GMT", "Age": "3600"}, 12),
        ({}, 12),
    ],
)
def test_times_are_compared_with_the_clock_of_whoever_tells_them(headers: dict[str, str], hour: int) -> None:
    assert told_at(headers, NOW) == NOW.replace(hour=hour)


@pytest.mark.parametrize(
    ("headers", "advice"),
    [
        ({"RateLimit": '"default";r=50;t=30'}, Advice(50, 30)),
        ({"RateLimit": '"burst";r=5;t=1, "daily";r=10;t=3600'}, Advice(10, 3600)),
        ({"RateLimit": "limit=100, remaining=7, reset=60"}, Advice(7, 60)),
        ({"RateLimit-Remaining": "0", "RateLimit-Reset": "9"}, Advice(0, 9)),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "60"}, Advice(3, 60)),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": str(int(NOW.timestamp()) + 60)}, Advice(3, 60)),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": str(int(NOW.timestamp() + 60) * 1000)}, Advice(3, 60)),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": str(int(NOW.timestamp()) - 60)}, None),
        ({"X-RateLimit-Remaining": "3"}, None),
        ({"X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "60"}, None),
        ({"X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "60"}, None),
        ({"RateLimit": '"default";t=30'}, None),
        ({}, None),
    ],
)
def test_what_is_left_is_read_in_the_forms_that_are_in_use(headers: dict[str, str], advice: Advice | None) -> None:
    assert parse_advice(headers, NOW) == advice


@given(st.dictionaries(st.sampled_from(["RateLimit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]), st.text()))
def test_whatever_a_provider_sends_is_read_or_left(headers: dict[str, str]) -> None:
    advice = parse_advice(headers, NOW)
    assert advice is None or (advice.remaining >= 0 and 0 < advice.reset <= 1e9)


@given(st.text())
def test_whatever_retry_after_says_is_a_pause_or_nothing(text: str) -> None:
    pause = parse_retry_after(text, NOW)
    assert pause is None or 0 <= pause <= 1e9
