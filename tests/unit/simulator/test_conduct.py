"""Faults and limits of the simulated provider, as pure decisions."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.scaling.ratelimit.limits import parse_limits
from waypost.simulator.conduct import FAULTS, Callers, Faults, parse_faults, parse_placed


def test_faults_are_read_with_their_shares() -> None:
    assert parse_faults("429=0.05, 500 = 0.02,cut=0") == {"429": 0.05, "500": 0.02, "cut": 0.0}


def test_every_fault_can_be_named() -> None:
    assert parse_faults(",".join(f"{name}=0.125" for name in FAULTS)) == dict.fromkeys(FAULTS, 0.125)


def test_shares_that_add_up_to_one_are_fine_however_they_are_rounded() -> None:
    assert len(parse_faults("429=0.1,500=0.2,503=0.3,cut=0.1,half=0.3")) == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no fault ''"),
        ("501=0.1", "there is no fault '501'"),
        ("garbige=0.1", "Did you mean garbage?"),
        ("429", "from 0 to 1"),
        ("429=", "from 0 to 1"),
        ("429=often", "from 0 to 1"),
        ("429=1.5", "from 0 to 1"),
        ("429=-0.1", "from 0 to 1"),
        ("429=nan", "from 0 to 1"),
        ("429=0.1,429=0.1", "named twice"),
        ("429=0.6,500=0.5", "more than 1"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_faults(text)


def test_a_placed_fault_meets_its_request_for_sure() -> None:
    faults = Faults({"500": 0.0}, seed=3, placed=parse_placed("12=429-bare, 30 = cut"))
    drawn = {number: fault for number in range(1, 100) if (fault := faults.draw(number))}
    assert drawn == {12: "429-bare", 30: "cut"}
    assert Faults(placed={1: "half"}).draw(1) == "half"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the number of a request"),
        ("429", "there is no fault ''"),
        ("0=429", "the number of a request"),
        ("-1=429", "the number of a request"),
        ("3=garbige", "Did you mean garbage?"),
        ("3=429,3=cut", "request 3 is named twice"),
    ],
)
def test_a_placed_fault_that_cannot_be_read_is_told(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_placed(text)


def test_faults_come_as_often_as_asked_for() -> None:
    faults = Faults({"429": 0.05, "500": 0.02}, seed=3)
    drawn = Counter(faults.draw(number) for number in range(20_000))
    assert 800 < drawn["429"] < 1200
    assert 300 < drawn["500"] < 500
    assert set(drawn) == {"429", "500", None}


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**9))
def test_the_same_seed_and_number_give_the_same_fault(seed: int, number: int) -> None:
    shares = {"cut": 0.5, "half": 0.5}
    assert Faults(shares, seed).draw(number) == Faults(shares, seed).draw(number) in shares


def test_another_seed_gives_other_faults() -> None:
    one, other = (Faults({"cut": 0.5}, seed) for seed in (1, 2))
    assert [one.draw(number) for number in range(100)] != [other.draw(number) for number in range(100)]


def test_without_shares_nothing_goes_wrong() -> None:
    assert {Faults().draw(number) for number in range(100)} == {None}
    assert {Faults({"429": 0.0}).draw(number) for number in range(100)} == {None}


def statuses(callers: Callers, *times: float, caller: str = "one") -> list[int]:
    answers = [callers.refuse(caller, at) for at in times]
    return [answer.status if answer else 200 for answer in answers]


def test_a_caller_who_asks_as_often_as_allowed_is_never_refused() -> None:
    callers = Callers(parse_limits("5/s"), None)
    assert set(statuses(callers, *(at * 0.2 for at in range(200)))) == {200}


def test_a_caller_who_asks_twice_as_often_is_refused_every_second_time() -> None:
    callers = Callers(parse_limits("5/s"), None)
    told = statuses(callers, *(at * 0.1 for at in range(200)))
    assert told[:5] == [200] * 5
    assert told[100:].count(429) == 50


def test_a_refusal_says_when_to_come_again() -> None:
    callers = Callers(parse_limits("1/30s"), None)
    assert callers.refuse("one", 0.0) is None
    refusal = callers.refuse("one", 9.5)
    assert refusal
    assert (refusal.status, refusal.retry_after) == (429, 21)
    assert statuses(callers, 9.5 + 21) == [200]


def test_all_limits_hold_together() -> None:
    callers = Callers(parse_limits("2/s,3/h"), None)
    assert statuses(callers, 0, 0, 0, 2, 4) == [200, 200, 429, 200, 429]


def test_each_caller_has_limits_of_its_own() -> None:
    callers = Callers(parse_limits("1/s"), None)
    assert statuses(callers, 0, 0) == [200, 429]
    assert statuses(callers, 0, caller="another") == [200]


def test_a_ban_comes_after_more_than_so_many_requests_in_a_minute_and_stays() -> None:
    callers = Callers((), 3)
    assert statuses(callers, 0, 20, 40, 60, 80) == [200] * 5
    assert statuses(callers, 81) == [403]
    assert statuses(callers, 100_000) == [403]
    assert statuses(callers, 81, caller="another") == [200]
    assert callers.banned == {"one"}


def test_refused_requests_count_towards_a_ban_too() -> None:
    assert statuses(Callers(parse_limits("1/h"), 3), 0, 1, 2, 3) == [200, 429, 429, 403]
