"""The laws of a budget, on a simulated clock."""

import copy
from collections.abc import Sequence
from itertools import accumulate, pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.crowd import SECOND, Caller, Crowd
from waypost.scaling.ratelimit.budget_records import Account, Asked, Known, Rules
from waypost.scaling.ratelimit.ledger import FIRST_PAUSE, GRACE, HEARTBEAT, HORIZON, LONGEST_PAUSE, STEADY, Ledger
from waypost.scaling.ratelimit.limits import Limit, Spacing, parse_limits

START = 1_700_000_000 * SECOND
SHORT = st.builds(Limit, st.integers(1, 200), st.sampled_from([1.0, 10.0, 60.0]), st.just("short"))
LONG = st.builds(Limit, st.integers(1, 300), st.sampled_from([61.0, 3600.0, 86_400.0]), st.just("long"), st.booleans())
LIMITS = st.tuples(SHORT) | st.tuples(LONG) | st.tuples(SHORT, LONG)
# Callers who come at once, a little later, or after a long silence.
GAPS = st.lists(
    st.sampled_from([0]) | st.integers(0, 2 * SECOND) | st.integers(0, 90_000 * SECOND), min_size=1, max_size=30
)
MOMENTS = st.integers(0, 30 * SECOND)


def rules(*limits: Limit, **others: float) -> Rules:
    return msgspec.structs.replace(Rules(tuple(Spacing.of(limit) for limit in limits)), **others)


def callers(gaps: Sequence[int], costs: Sequence[int] = (1,)) -> list[Caller]:
    times = list(accumulate(gaps, initial=START))
    return [Caller(number, time, costs[number % len(costs)]) for number, time in enumerate(times)]


def assert_within(limit: Limit, went: Sequence[tuple[int, Caller]]) -> None:
    """Every window that starts and ends with a request; all others see no more than one of these."""
    for first, (start, _) in enumerate(went):
        taken = 0
        for end, caller in went[first:]:
            taken += caller.cost
            assert taken <= (end - start) / SECOND * limit.rate + limit.burst + 1e-6


def assert_within_a_period(limit: Limit, went: Sequence[tuple[int, Caller]]) -> None:
    for first, (start, _) in enumerate(went):
        within = sum(caller.cost for end, caller in went[first:] if end - start < limit.period * SECOND)
        assert within <= limit.count


@given(LIMITS, GAPS)
def test_no_window_sees_more_than_rate_times_length_and_the_burst_and_no_day_more_than_its_limit(
    limits: tuple[Limit, ...], gaps: list[int]
) -> None:
    went = Crowd(rules(*limits)).run(callers(gaps))
    assert len(went) == len(gaps) + 1
    for limit in limits:
        assert_within(limit, went)
        assert_within_a_period(limit, went)


@given(LIMITS, GAPS, st.lists(st.tuples(MOMENTS, st.integers(0, 100 * SECOND)), max_size=4), st.data())
def test_penalties_deaths_and_a_clock_that_steps_back_open_no_way_around_the_limits(
    limits: tuple[Limit, ...], gaps: list[int], penalties: list[tuple[int, int]], data: st.DataObject
) -> None:
    coming = callers(gaps)
    for caller in data.draw(st.lists(st.sampled_from(coming), max_size=10)):
        caller.dies = caller.comes + data.draw(MOMENTS)
    steps = data.draw(st.lists(st.tuples(MOMENTS, st.integers(-7200 * SECOND, 0)), max_size=3))
    went = Crowd(rules(*limits), tells=data.draw(st.booleans())).run(
        coming, [(START + when, pause) for when, pause in penalties], [(START + when, by) for when, by in steps]
    )
    assert {caller.number for caller in coming if caller.dies is None} <= {caller.number for _, caller in went}
    for limit in limits:
        assert_within(limit, went)
        assert_within_a_period(limit, went)


@given(LIMITS, GAPS)
def test_first_come_first_served(limits: tuple[Limit, ...], gaps: list[int]) -> None:
    went = Crowd(rules(*limits)).run(callers(gaps))
    assert [caller.number for _, caller in went] == list(range(len(gaps) + 1))


@given(LIMITS, GAPS, st.integers(0, 5 * SECOND), st.integers(HORIZON + SECOND, 100 * SECOND))
def test_a_penalty_reaches_those_who_wait_and_they_keep_their_order(
    limits: tuple[Limit, ...], gaps: list[int], when: int, pause: int
) -> None:
    went = Crowd(rules(*limits)).run(callers(gaps), [(START + when, pause)])
    assert not [time for time, _ in went if START + when < time < START + when + pause]
    assert [caller.number for _, caller in went] == list(range(len(gaps) + 1))


@given(LIMITS, st.integers(1, 100), st.integers(1, 60))
def test_a_refused_request_takes_nothing_from_any_limit(limits: tuple[Limit, ...], taken: int, max_wait: int) -> None:
    crowd = Crowd(rules(*limits))
    crowd.run(callers([0] * taken), until=START)
    before = copy.deepcopy((crowd.account.arrivals, crowd.common.arrivals, crowd.account.line))
    [answered] = crowd.ledger(START).ask("process", [Asked(0, 1, max_wait)])
    after = crowd.account.arrivals, crowd.common.arrivals, crowd.account.line
    assert (answered.verdict == "refused") == (after == before)


def test_a_limit_that_blocks_does_not_advance_the_other() -> None:
    both = rules(*parse_limits("5/s,2/min"))
    account = Account()
    ledger = Ledger(account, Account(), both, Known(), START)
    first, second = ledger.ask("process", [Asked(0, 1), Asked(0, 1)])
    assert (first.verdict, second.verdict) == ("granted", "later")
    assert account.arrivals == {"5/s": START + SECOND // 5, "2/min": START + 30 * SECOND}


@given(SHORT, st.integers(2, 50))
def test_a_short_limit_is_spaced_evenly(limit: Limit, count: int) -> None:
    went = Crowd(rules(limit)).run(callers([0] * (count - 1)))
    assert {later - earlier for (earlier, _), (later, _) in pairwise(went)} == {Spacing.of(limit).interval}


@given(LIMITS)
def test_whoever_comes_after_a_long_silence_goes_at_once(limits: tuple[Limit, ...]) -> None:
    (_, _), (second, _) = Crowd(rules(*limits)).run(callers([200_000 * SECOND]))
    assert second == START + 200_000 * SECOND


def test_what_costs_more_than_the_burst_goes_and_those_after_it_pay() -> None:
    went = Crowd(rules(*parse_limits("2/s"))).run(callers([0, 0], costs=[20, 1, 1]))
    assert [time - START for time, _ in went] == [0, 10 * SECOND, 10 * SECOND + SECOND // 2]


def test_a_caller_that_waits_long_asks_now_and_then_and_not_all_the_time() -> None:
    crowd = Crowd(rules(*parse_limits("6/min")))
    crowd.run(callers([0] * 9))
    assert max(time for time, _ in crowd.went) == START + 90 * SECOND
    # Whenever a third of its wait has passed: that is 13 times in 90 seconds, and once when the turn is near.
    assert crowd.asked <= 10 + 14 * 9


def test_callers_that_die_in_the_line_do_not_hold_the_others_up_for_long() -> None:
    coming = callers([0] * 40)
    for caller in coming[2:38]:
        caller.dies = START + 1
    went = Crowd(rules(*parse_limits("6/min"))).run(coming)
    survivors = [time for time, caller in went if caller.number >= 38]
    # They would have waited for 390 seconds. After a third of that nobody counts the dead any more.
    assert max(survivors) - START <= (390 // 3 + 3 * 10) * SECOND + GRACE


@given(st.integers(-(10**6), -1), st.integers(2, 20))
def test_a_clock_that_steps_back_makes_nobody_wait_for_it(seconds: int, count: int) -> None:
    limit = parse_limits("5/s")
    undisturbed = Crowd(rules(*limit)).run(callers([0] * count))
    stepped = Crowd(rules(*limit)).run(callers([0] * count), steps=[(START + 1, seconds * SECOND)])
    latest = max(time for time, _ in undisturbed)
    assert max(time for time, _ in stepped) <= latest + SECOND


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=10), LIMITS)
def test_whatever_the_clock_does_no_wait_is_negative_and_none_is_much_too_long(
    steps: list[int], limits: tuple[Limit, ...]
) -> None:
    crowd = Crowd(rules(*limits))
    went = crowd.run(callers([SECOND] * 20), steps=[(START + 2 * SECOND * n, by) for n, by in enumerate(steps)])
    alone = Crowd(rules(*limits)).run(callers([SECOND] * 20))
    # The latest has waited for the others, and once more for half as long, if a step back hid that they are gone.
    assert went[-1][0] - START <= (alone[-1][0] - START) * 3 // 2 + HEARTBEAT + len(steps) * SECOND


def test_a_turn_that_is_given_back_goes_to_the_next() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    crowd.run(callers([0, 0]), until=START)
    crowd.ledger(START).leave(crowd.account.turns)
    [answered] = crowd.ledger(START).ask("process", [Asked(0, 1)])
    assert answered.at == START + SECOND // 5


def test_a_turn_that_was_not_the_last_passes_unused() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    crowd.run(callers([0, 0]), until=START)
    crowd.ledger(START).leave(crowd.account.turns - 1)
    [answered] = crowd.ledger(START).ask("process", [Asked(0, 1)])
    assert answered.at == START + SECOND * 3 // 10


def test_who_leaves_the_line_is_not_waited_for() -> None:
    crowd = Crowd(rules(*parse_limits("1/min")))
    crowd.run(callers([0, 0]), until=START)
    assert [waiting.turn for waiting in crowd.account.line] == [2, 3]
    crowd.ledger(START).leave(2)
    assert [waiting.turn for waiting in crowd.account.line] == [3]


# Refusals


def test_refusals_halve_the_rate_once_for_all_who_met_the_same_one_and_down_to_the_floor() -> None:
    crowd = Crowd(rules(*parse_limits("8/s"), floor=0.2))
    for _ in range(40):
        crowd.ledger(START).penalise(10 * SECOND)
    assert crowd.account.pace == 0.5
    for later in (10, 20, 30):
        crowd.ledger(START + later * SECOND).penalise(10 * SECOND)
    assert crowd.account.pace == 0.2


def test_success_raises_the_rate_slowly_and_up_to_the_ceiling() -> None:
    crowd = Crowd(rules(*parse_limits("8/s"), ceiling=0.9, recovery=100 * SECOND))
    crowd.ledger(START).penalise(0)
    assert crowd.account.pace == 0.45
    for second in range(1, 11):
        crowd.ledger(START + second * SECOND).ask("process", [], succeeded=True)
    assert crowd.account.pace == pytest.approx(0.55)
    # Nobody asked for an hour: that is no success.
    crowd.ledger(START + 3600 * SECOND).ask("process", [], succeeded=True)
    assert crowd.account.pace == pytest.approx(0.55 + STEADY / (100 * SECOND))
    for second in range(3601, 3700):
        crowd.ledger(START + second * SECOND).ask("process", [], succeeded=True)
    assert crowd.account.pace == 0.9


def test_success_of_what_was_sent_before_a_refusal_changes_nothing() -> None:
    crowd = Crowd(rules(*parse_limits("8/s")))
    crowd.ledger(START).penalise(10 * SECOND)
    crowd.ledger(START + 5 * SECOND).ask("process", [], succeeded=True)
    assert crowd.account.pace == 0.5
    assert crowd.account.refusals == 1


def test_without_advice_the_pause_grows_with_each_refusal_in_a_row_and_success_ends_the_row() -> None:
    crowd = Crowd(rules(*parse_limits("8/s")))
    now, pauses = START, []
    for _ in range(12):
        crowd.ledger(now).penalise(None)
        pauses.append(crowd.account.penalty - now)
        now = crowd.account.penalty
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    crowd.ledger(now).ask("process", [], succeeded=True)
    crowd.ledger(now).penalise(None)
    assert crowd.account.penalty - now == FIRST_PAUSE


@given(st.integers(0, 10**9))
def test_a_penalty_lasts_as_long_as_the_provider_said(seconds: int) -> None:
    crowd = Crowd(rules(*parse_limits("8/s")))
    crowd.ledger(START).penalise(seconds * SECOND)
    crowd.ledger(START).penalise(1)
    [answered] = crowd.ledger(START).ask("process", [Asked(0, 1, max_wait=max(0, seconds * SECOND - 1))])
    assert answered.at >= START + seconds * SECOND


def test_advice_lowers_the_rate_before_a_refusal_and_sends_those_who_wait_back_to_ask() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    epoch = crowd.ledger(START).account.epoch
    crowd.ledger(START).advise(60, 60 * SECOND)
    assert crowd.account.pace == pytest.approx(0.1)
    assert crowd.account.epoch == epoch + 1
    crowd.ledger(START).advise(59, 60 * SECOND)  # not worth a word
    assert crowd.account.epoch == epoch + 1
    crowd.ledger(START).advise(10_000, SECOND)  # success raises the rate, not advice
    assert crowd.account.pace == pytest.approx(0.1)


def test_nobody_asks_a_provider_that_says_that_nothing_is_left() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    crowd.ledger(START).advise(0, 60 * SECOND)
    [answered] = crowd.ledger(START).ask("process", [Asked(0, 1, max_wait=59 * SECOND)])
    assert answered.verdict == "refused"
    assert crowd.account.pace == 1.0


# A store that forgets


def knowing(crowd: Crowd, now: int) -> Known:
    return crowd.ledger(now).known()


def test_a_flushed_store_learns_from_whoever_asks_next() -> None:
    crowd = Crowd(rules(*parse_limits("10000/day")))
    crowd.run(callers([0] * 9))
    crowd.ledger(START).penalise(3600 * SECOND)
    known = knowing(crowd, START)
    empty = Account()
    ledger = Ledger(empty, Account(), crowd.rules, known, START + SECOND)
    [answered] = ledger.ask("process", [Asked(0, 1, max_wait=10)])
    assert answered.at >= START + 3600 * SECOND
    assert empty.arrivals == crowd.account.arrivals
    assert empty.pace == 0.5


def test_after_a_flush_nobody_goes_before_all_who_had_a_turn_are_gone() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    crowd.run(callers([0]), until=START)
    known = knowing(crowd, START)
    crowd.run([Caller(number, START) for number in range(10, 30)], until=START)  # by others, who say nothing
    forgetful = Account()
    Ledger(forgetful, Account(), crowd.rules, known, START)
    assert forgetful.quiet >= max(crowd.account.arrivals.values())


def test_a_store_that_went_back_in_time_learns_too() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    crowd.run(callers([0]), until=START)
    old = copy.deepcopy(crowd.account)
    crowd.run([Caller(9, START)], until=START)
    ledger = Ledger(old, Account(), crowd.rules, knowing(crowd, START), START)
    assert old.quiet == START + HORIZON + SECOND // 10
    assert ledger.known().seq > crowd.account.seq


def test_whoever_knows_less_than_the_store_changes_nothing() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    early = knowing(crowd, START)
    crowd.run(callers([0, 0]), until=START)
    arrivals = dict(crowd.account.arrivals)
    Ledger(crowd.account, Account(), crowd.rules, early, START)
    assert crowd.account.arrivals == arrivals
    assert crowd.account.quiet == 0


def test_a_penalty_that_the_store_did_not_hear_of_is_told_with_the_next_call() -> None:
    crowd = Crowd(rules(*parse_limits("10/s")))
    known = msgspec.structs.replace(knowing(crowd, START), penalty=START + 60 * SECOND)
    epoch = crowd.account.epoch
    Ledger(crowd.account, Account(), crowd.rules, known, START + SECOND)
    assert crowd.account.penalty == START + 60 * SECOND
    assert crowd.account.epoch == epoch + 1
