"""Different people, of any hours of a day in a row."""

from hypothesis import given
from hypothesis import strategies as st

from waypost.sharing.visits.arrivals import arrive
from waypost.sharing.visits.spans import DAY_HOURS

DAY = 20_000
FIRST = DAY * DAY_HOURS

HOURS = st.integers(0, DAY_HOURS)
# In which hours of a day each was seen, as bits; a store tells of each visitor once at a time.
SIGHTS = st.dictionaries(st.sampled_from(["ann", "ben", "cat"]), st.integers(1, 2**DAY_HOURS - 1))


@given(st.lists(SIGHTS, max_size=5), HOURS, HOURS)
def test_each_counts_once_in_any_hours_in_a_row_in_whichever_order_they_are_seen(
    batches: list[dict[str, int]], start: int, end: int
) -> None:
    known: dict[tuple[str, int, str], int] = {}
    counted: dict[tuple[int, int], int] = {}
    new = 0
    for batch in batches:
        found = arrive([("link", DAY, who, hours) for who, hours in sorted(batch.items())], known)
        known |= {(link, day, who): hours for link, day, who, hours in found.seen}
        new += found.new.get(("link", DAY), 0)
        for _, hour, last, change in found.counted:
            counted[hour, last] = counted.get((hour, last), 0) + change
    sights = {
        (who, FIRST + hour)
        for batch in batches
        for who, hours in batch.items()
        for hour in range(DAY_HOURS)
        if hours >> hour & 1
    }
    assert new == len({who for who, _ in sights})
    begin, finish = FIRST + start, FIRST + end
    people = sum(count for (hour, last), count in counted.items() if begin <= hour < finish and last < begin)
    assert people == len({who for who, hour in sights if begin <= hour < finish})
    assert all(count >= 0 for count in counted.values())


def test_who_was_here_in_the_same_hour_already_changes_nothing() -> None:
    found = arrive([("link", DAY, "ann", 0b100)], {("link", DAY, "ann"): 0b110})
    assert (found.seen, found.counted, found.new) == ([], [], {})
