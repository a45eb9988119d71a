"""Of lines that clients can provoke, one a minute of each kind is written, and says how many were not."""

import logging

import pytest
from structlog.testing import capture_logs

from waypost.telemetry.logs import get_logger
from waypost.telemetry.rated_log import LibraryLineRate, LineRate, RatedLog


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def raised(kind: type[Exception]) -> Exception:
    def fail() -> None:
        raise kind("nobody foresaw this")

    with pytest.raises(kind) as caught:
        fail()
    return caught.value


def test_one_line_a_minute_is_written_and_tells_of_the_others() -> None:
    clock = Clock()
    rated = RatedLog(get_logger("web"), LineRate(clock))
    with capture_logs() as logs:
        for seconds in (0.0, 1.0, 58.0, 1.0, 60.0):
            clock.now += seconds
            rated.warning("refused", slug="not-http")
    assert [line["held_back"] for line in logs] == [0, 2, 0]


def test_kinds_do_not_hold_each_other_back() -> None:
    rated = RatedLog(get_logger("web"), LineRate(Clock()))
    with capture_logs() as logs:
        for _ in range(3):
            for slug in ("not-http", "overloaded"):
                rated.warning("refused", slug=slug)
            for defect in (raised(ValueError), raised(KeyError), ValueError("raised nowhere")):
                rated.error("a defect", defect)
    assert len(logs) == 5


def test_lines_of_libraries_are_rated_too() -> None:
    clock = Clock()
    rate = LibraryLineRate(LineRate(clock))

    def written(message: str, *values: object, error: Exception | None = None) -> str | None:
        info = (type(error), error, error.__traceback__) if error else None
        record = logging.LogRecord("uvicorn.error", logging.WARNING, __file__, 1, message, values, info)
        return record.getMessage() if rate.filter(record) else None

    assert written("%d tasks are cancelled", 3) == "3 tasks are cancelled"
    assert written("%d tasks are cancelled", 4) is None
    assert written("a defect", error=raised(ValueError)) == "a defect"
    assert written("a defect", error=raised(KeyError)) == "a defect"
    assert written("a defect", error=raised(KeyError)) is None
    clock.now += 60
    assert written("%d tasks are cancelled", 5) == "5 tasks are cancelled (1 such lines were held back)"


def test_no_number_of_kinds_takes_more_than_some_memory() -> None:
    rate = LineRate(Clock())
    for number in range(5000):
        assert rate.take((number,)) == 0
    assert len(rate._kinds) <= 1000
