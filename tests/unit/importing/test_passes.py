"""How a pass ends, and when it must not."""

import pytest

from support.places import NOON, page, writing
from waypost.importing.passes import Clear, Count, Did, Gap, Judge, Pass, Remove, Sweep, cost, next_step
from waypost.importing.refusals import Others, import_of, mass_delete, too_many_rejected

GAP = Gap(0, "", None, NOON)


def test_steps_are_never_larger_than_the_room_and_end() -> None:
    left = {Sweep: 1000, Count: 300, Remove: 300, Clear: 1000}
    state = Pass(marks="m", gaps=(GAP,)).ending(page(last=True), ())
    commits = 0
    while state.phase != "over":
        room, commits = 50, commits + 1
        while step := next_step(state, room):
            rows = 0 if isinstance(step, Judge) else min(step.limit, left[type(step)])
            if not isinstance(step, Judge):
                left[type(step)] -= rows
            did = Did(rows, external_id=f"{commits:04}")
            assert cost(step, did) <= max(room, 5)
            room -= cost(step, did)
            state = step.then(state, did)
    assert set(left.values()) == {0}
    assert commits > (1000 + 300 + 300 * 5 + 1000) // 55


def test_judging_begins_a_commit_of_its_own() -> None:
    state, room = Pass().ending(page(last=True), ()), 50
    count = next_step(state, room)
    assert isinstance(count, Count)
    did = Did(rows=1, going=1)
    state = count.then(state, did)
    assert next_step(state, room - cost(count, did)) is None
    assert next_step(state, room) == Judge(going=1, held=1)


def test_nothing_to_remove_and_nothing_marked_ends_with_the_last_page() -> None:
    state, room = Pass().ending(page(last=True), ()), 5
    while step := next_step(state, room):
        state = step.then(state, Did())
    assert state.phase == "over"


@pytest.mark.parametrize(
    ("good", "bad", "is_refused"),
    [(0, 0, False), (0, 3, True), (1, 3, False), (79, 21, True), (85, 21, False), (1, 20, False), (0, 4857, True)],
)
def test_a_few_rejects_are_odd_and_all_of_them_are_a_failure(good: int, bad: int, *, is_refused: bool) -> None:
    read = Pass(records=good + bad, rejected=bad)
    assert (too_many_rejected("s", writing(most_rejected=0.2), read) is not None) == is_refused
    assert too_many_rejected("s", writing(most_rejected=1.0), read) is None


@pytest.mark.parametrize(
    ("going", "held", "others", "is_refused"),
    [
        (20, 20, Others(), False),
        (21, 21, Others(), True),
        (21, 200, Others(), False),
        (20, 20, Others(20, 20), True),
        (20, 20, Others(4000, 20), False),
        (0, 20, Others(20, 20), False),
        (10, 20, Others(100, 15), True),
    ],
)
def test_what_goes_is_judged_by_shard_and_by_import(going: int, held: int, others: Others, *, is_refused: bool) -> None:
    judged = Judge(going, held)
    assert (mass_delete("s", writing(most_removed=0.2), judged, others) is not None) == is_refused
    assert mass_delete("s", writing(most_removed=1.0), judged, others) is None


def test_shards_of_one_import_have_a_name_in_common() -> None:
    assert (
        import_of("shops/box:c1/refresh:0190") == import_of("shops/box:c2/refresh:0190/ids:5..") == "shops/refresh:0190"
    )
    assert import_of("ocm/country:DE/full:2026-02-21") == "ocm/full:2026-02-21"
    assert import_of("ocm/country:DE/window:2026-02-21T00:00:00Z..2026-02-21T01:00:00Z") is None
