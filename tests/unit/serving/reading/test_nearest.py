"""The nearest of very many places, page by page to the last one."""

from support.snapshots import generation_of, stations
from waypost.serving.reading.query import Query

# More than were once looked at before pages ended; the first are looked for in circles and the last among all.
COUNT, PAGE = 101_000, 5_000


def test_pages_of_the_nearest_go_on_to_the_last_place() -> None:
    with generation_of(stations(COUNT)) as generation:
        rows: list[int] = []
        metres: list[float] = []
        start: int | None = 0
        while start is not None:
            found = generation.select(Query(near=(0, 0)), PAGE, start)
            assert found.metres is not None
            assert found.matched == COUNT
            rows += found.rows.tolist()
            metres += found.metres.tolist()
            start = found.next
        assert sorted(rows) == list(range(COUNT))
        assert list(zip(metres, rows, strict=True)) == sorted(zip(metres, rows, strict=True))
        beyond = generation.select(Query(near=(0, 0)), PAGE, COUNT)
        assert (len(beyond.rows), beyond.next) == (0, None)
