"""What the import drill says about too many requests in a second."""

from drills.importing.checks.budget import check_rate
from drills.importing.mishaps import Mishap
from drills.importing.probes import Probes
from drills.importing.requests import Request

RATE = 10


def requests(*more: float) -> list[Request]:
    """As many as the budget allows, evenly, and some more."""
    times = sorted([*(100 + number / RATE for number in range(30)), *more])
    return [Request(number, time, "/stations", "", 200, None, 0.0) for number, time in enumerate(times)]


def is_kept(came: list[Request], *mishaps: Mishap) -> bool:
    return check_rate(came, RATE, Probes("http://localhost"), mishaps).kept


def test_what_comes_evenly_is_within_the_budget() -> None:
    assert is_kept(requests())


def test_one_too_many_is_seen_unless_a_stopped_worker_that_goes_on_just_then_has_sent_it() -> None:
    came = requests(101.01, 101.02)
    assert not is_kept(came)
    assert is_kept(came, Mishap("stop", "a", 98.0, 101.0))
    assert not is_kept(came, Mishap("stop", "a", 98.0, 105.0))
    assert not is_kept(came, Mishap("kill", "a", 101.0, 101.0))


def test_a_stopped_worker_excuses_one_request_and_no_more() -> None:
    assert not is_kept(requests(101.01, 101.02, 101.03), Mishap("stop", "a", 98.0, 101.0))
