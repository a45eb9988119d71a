"""What jobs wait for, in words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from waypost.cli.job_view import views_of
from waypost.scaling.jobs.job import Job

NOW = datetime(2026, 2, 21, 12, tzinfo=UTC)


def job(shard: str = "ocm/country:DE/full:2026-02-21", *, wait: float = 0.0, said: float = 1.0, **more: Any) -> Job:
    """It is due after `wait` seconds, and said what it says `said` seconds ago."""
    known: dict[str, Any] = {
        "id": shard,
        "shard": shard,
        "status": "pending",
        "lease_owner": None,
        "lease_until": None,
        "fence": 1,
        "attempts": 0,
        "attempts_total": 1,
        "failures": 0,
        "priority": 0,
        "not_before": NOW + timedelta(seconds=wait),
        "cursor": None,
        "counters": {},
        "last_error_code": None,
        "last_error_message": None,
        "last_error_at": NOW - timedelta(seconds=said),
        "created_at": NOW,
        "finished_at": None,
    }
    return Job(**known | more)


@pytest.mark.parametrize(
    ("code", "wait", "status", "waits_for"),
    [
        ("provider-away", 8, "pending", "the provider: provider-away, next probe in 8 s"),
        ("provider-away", 0, "pending", "the provider: provider-away, next probe now"),
        ("provider-away", 8, "done", None),
        ("provider-refused", 30, "pending", "the provider: provider-refused, in 30 s"),
        ("budget-exhausted", 30, "pending", "a turn in the budget: budget-exhausted, in 30 s"),
        ("provider-pauses", 30, "pending", "the provider: provider-pauses, in 30 s"),
        ("source-elsewhere", 30, "pending", "a worker that has its source: source-elsewhere, in 30 s"),
        ("provider-unavailable", 4, "pending", "another try: provider-unavailable, in 4 s"),
        ("provider-unavailable", 0, "pending", None),
        ("provider-unavailable", 0, "dead", None),
        (None, 4, "pending", None),
    ],
)
def test_a_job_says_what_it_waits_for(code: str | None, wait: float, status: str, waits_for: str | None) -> None:
    [view] = views_of([job(wait=wait, status=status, last_error_code=code)], NOW)
    assert view.waits_for == waits_for


def test_jobs_that_were_not_tried_since_wait_for_the_same_provider() -> None:
    away = job(wait=8, last_error_code="provider-away")
    untried, held = job("ocm/country:FR/full:2026-02-21"), job("ocm/country:NL/full:2026-02-21", status="leased")
    other = job("lamps/all:x/full:2026-02-21")
    views = views_of([away, untried, held, other], NOW)
    assert [view.waits_for for view in views[1:]] == ["the provider: provider-away"] * 2 + [None]


def test_what_was_said_long_ago_says_nothing_about_others() -> None:
    long_ago = job(said=3600, last_error_code="provider-away")
    views = views_of([long_ago, job("ocm/country:FR/full:2026-02-21")], NOW)
    assert [view.waits_for for view in views] == [None, None]
