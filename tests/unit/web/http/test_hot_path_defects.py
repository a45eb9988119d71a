"""A defect in a hot path is always counted, and not always logged."""

from structlog.testing import capture_logs

from waypost.telemetry.metrics import HOT_PATH_DEFECTS
from waypost.web.http.hot_path_defects import HotPathDefects


def _counted() -> float:
    return sum(each.value for metric in HOT_PATH_DEFECTS.collect() for each in metric.samples if "_total" in each.name)


def test_every_defect_is_counted_and_one_a_minute_is_logged() -> None:
    now, before = 1000.0, _counted()
    defects = HotPathDefects(lambda: now)
    defect = ValueError("nobody foresaw this")
    with capture_logs() as logs:
        for seconds in (0.0, 1.0, 58.0, 1.0):
            now += seconds
            defects.note(defect)
    assert _counted() == before + 4
    assert [line["exc_info"] for line in logs] == [defect, defect]
