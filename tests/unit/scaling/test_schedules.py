"""Schedules: whenever anybody looks, and wherever they are broken off, all is covered, and nothing twice."""

import asyncio
import random
from collections.abc import Coroutine, Generator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from waypost.importing.schedules import FullSchedule, WindowsSchedule
from waypost.importing.windows import Window
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import StoreTrouble
from waypost.scaling.jobs.job import NewJob
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.jobs.store import JobStore
from waypost.scaling.schedules.coverage_book import CoverageBook
from waypost.scaling.schedules.schedule import Coverage, PruneSchedule, Schedule, due, last_line, next_due
from waypost.scaling.schedules.scheduler import Scheduler
from waypost.serving.settings import SnapshotSchedule
from waypost.settings import Settings, load_settings

Result = TypeVar("Result")

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURLY = WindowsSchedule(source="ocm", countries=("DE", "FR"), every=HOUR)
DAILY = WindowsSchedule(source="ocm", countries=("DE",), every=DAY)
NIGHTLY = FullSchedule(source="ocm", countries=("DE", "FR"), every=DAY, at=timedelta(hours=2, minutes=30))
SNAPSHOTS = SnapshotSchedule(every=timedelta(minutes=45), at=timedelta())
TIDY = PruneSchedule(every=DAY, at=timedelta(hours=4), older_than=30 * DAY)
ALL: dict[str, Schedule] = {"hourly": HOURLY, "daily": DAILY, "nightly": NIGHTLY, "snapshots": SNAPSHOTS, "tidy": TIDY}

NOON = datetime(2026, 2, 21, 12, 0, tzinfo=UTC)
# Years on both sides of a day that is not every year, and of the epoch.
moments = st.datetimes(datetime(1969, 1, 1), datetime(2028, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - added
schedules = st.sampled_from(list(ALL.values()))
gaps = st.timedeltas(timedelta(0), timedelta(days=70)) | st.timedeltas(timedelta(0), timedelta(hours=3))


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"2026-02-{text}Z")


def keys(schedule: Schedule, now: datetime, covered_until: datetime | None) -> list[str]:
    found = due(schedule, now, covered_until)
    return [str(key) for key in found.keys] if found else []


# What is due


def test_at_the_first_start_only_the_last_whole_window_is_due() -> None:
    assert keys(HOURLY, at("21T12:34:56"), None) == [
        "ocm/country:DE/window:2026-02-21T11:00:00Z..2026-02-21T12:00:00Z",
        "ocm/country:FR/window:2026-02-21T11:00:00Z..2026-02-21T12:00:00Z",
    ]
    assert keys(DAILY, at("21T12:34:56"), None) == ["ocm/country:DE/window:2026-02-20T00:00:00Z..2026-02-21T00:00:00Z"]


def test_a_window_is_due_a_minute_after_its_end() -> None:
    assert keys(HOURLY, at("21T13:00:59"), NOON) == []
    assert len(keys(HOURLY, at("21T13:01:00"), NOON)) == 2


def test_a_time_away_is_covered_with_the_largest_windows_that_fit() -> None:
    covered = datetime(2025, 11, 30, 22, 0, tzinfo=UTC)
    found = due(WindowsSchedule(source="ocm", countries=("DE",), every=HOUR), at("02T01:30:00"), covered)
    assert found
    lengths = [(window := Window.parse(key["window"])).end - window.start for key in found.keys]
    assert lengths == [HOUR, HOUR, 31 * DAY, 31 * DAY, DAY, HOUR]


def test_everything_is_due_once_a_day_and_after_a_time_away_for_the_latest_day_alone() -> None:
    assert keys(NIGHTLY, at("21T02:29:59"), at("20T02:30:00")) == []
    assert keys(NIGHTLY, at("21T02:30:00"), at("20T02:30:00")) == [
        "ocm/country:DE/full:2026-02-21",
        "ocm/country:FR/full:2026-02-21",
    ]
    assert keys(NIGHTLY, at("25T02:29:59"), at("20T02:30:00"))[0] == "ocm/country:DE/full:2026-02-24"
    assert len(keys(NIGHTLY, at("25T02:29:59"), at("20T02:30:00"))) == 2


def test_a_chore_is_due_on_its_lines_and_after_a_time_away_once() -> None:
    assert keys(SNAPSHOTS, at("21T12:44:59"), at("21T12:00:00")) == []
    assert keys(SNAPSHOTS, at("21T12:45:00"), at("21T12:00:00")) == ["waypost/snapshot:2026-02-21T12:45:00Z"]
    assert keys(SNAPSHOTS, at("25T12:00:01"), at("21T12:00:00")) == ["waypost/snapshot:2026-02-25T12:00:00Z"]
    assert keys(TIDY, at("21T12:00:00"), None) == ["waypost/prune:2026-02-21T04:00:00Z/older:2592000s"]


def test_one_of_the_lines_is_where_it_was_asked_for() -> None:
    quarter = SnapshotSchedule(every=timedelta(hours=6), at=timedelta(hours=2, minutes=30))
    assert [last_line(quarter, NOON + count * timedelta(hours=6)).strftime("%H:%M") for count in range(4)] == [
        "08:30",
        "14:30",
        "20:30",
        "02:30",
    ]


@given(schedules, moments, moments)
def test_what_is_due_ends_at_the_last_line_and_is_not_due_again(
    schedule: Schedule, now: datetime, covered_until: datetime
) -> None:
    found = due(schedule, now, last_line(schedule, covered_until))
    line = last_line(schedule, now)
    assert line + schedule.settling <= now < line + schedule.settling + schedule.every
    assert (found is None) == (last_line(schedule, covered_until) >= line)
    assert due(schedule, now, line) is None
    if found:
        assert found.end == line
        assert len(set(found.keys)) == len(found.keys) > 0
        assert [ShardKey.parse(str(key)) for key in found.keys] == list(found.keys)


@given(schedules, moments, gaps)
def test_it_is_next_due_at_the_first_moment_at_which_it_is_due(
    schedule: Schedule, now: datetime, gap: timedelta
) -> None:
    coverage = Coverage(covered_until=last_line(schedule, now - gap))
    moment = next_due(schedule, now, coverage)
    assert moment
    assert due(schedule, moment, coverage.covered_until)
    assert moment == now or not due(schedule, moment - timedelta(microseconds=1), coverage.covered_until)
    assert next_due(schedule, now, Coverage()) == now
    assert next_due(schedule, now, Coverage(paused=True)) is None


# Whoever looks, whenever, and wherever they are broken off


class NoJitter(random.Random):
    """Tries again at once."""

    def uniform(self, a: float, b: float) -> float:
        return a


class Turn:
    """Gives the next step to whom the test chooses."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class World:
    """A store shared by schedulers, each of which stops before every call, perhaps for ever."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.facts: dict[str, str] = {}
        self.jobs: dict[str, None] = {}

    async def clock(self) -> datetime:
        return self.now

    async def get(self, name: str) -> str | None:
        await Turn()
        return self.facts.get(name)

    async def set(self, name: str, value: str) -> None:
        raise AssertionError("a change that has not seen what it changes may undo another's")

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        await Turn()
        if self.facts.get(name) != old:
            return False
        self.facts[name] = new
        return True

    async def enqueue(self, jobs: Sequence[NewJob], *, group: str | None = None) -> int:
        await Turn()
        new = [job.shard for job in jobs if job.shard not in self.jobs]
        self.jobs |= dict.fromkeys(new)
        return len(new)

    def scheduler(self) -> Scheduler:
        return Scheduler(ALL, CoverageBook(self), cast("JobStore", self), self.clock, NoJitter())

    def look(self) -> Coroutine[Any, Any, float]:
        return self.scheduler().look()

    def look_to_the_end(self) -> float:
        return to_the_end(self.look())


def to_the_end(working: Coroutine[Any, Any, Result]) -> Result:
    while True:
        try:
            working.send(None)
        except StopIteration as end:
            return cast("Result", end.value)


def step(looking: Coroutine[Any, Any, float]) -> bool:
    """On to the next call; false when it came to its end."""
    try:
        looking.send(None)
    except StopIteration:
        return False
    return True


# Who makes so many steps after how much time, and whether they are killed then.
moves = st.lists(st.tuples(st.integers(0, 1), gaps, st.integers(0, 25), st.booleans()), max_size=12)


@settings(deadline=None)
@given(moments, moves)
@example(at("21T23:30:00"), [(0, timedelta(0), 3, False), (0, HOUR, 25, True), (1, timedelta(0), 25, False)])
@example(at("01T00:30:00"), [(0, 31 * DAY, 3, True), (1, DAY, 2, False), (0, DAY, 9, False)])
def test_every_hour_is_covered_exactly_once_and_nothing_is_enqueued_twice(
    start: datetime, moves: list[tuple[int, timedelta, int, bool]]
) -> None:
    world = World(start)
    looking = [world.look(), world.look()]
    for who, gap, steps, killed in moves:
        world.now += gap
        for _ in range(steps):
            if not step(looking[who]):
                looking[who] = world.look()
        if killed:
            looking[who].close()
            looking[who] = world.look()
    for each in looking:
        each.close()
    world.look_to_the_end()

    hourly = covered(world.jobs, "FR")
    assert hourly[-1].end == last_line(HOURLY, world.now)
    assert hourly[0].start >= last_line(HOURLY, start) - HOUR
    assert all(before.end == after.start for before, after in pairwise(hourly))
    for prefix in ("waypost/snapshot:", "waypost/prune:", "ocm/country:DE/full:"):
        lines = [job for job in world.jobs if job.startswith(prefix)]
        assert lines == sorted(lines)
        assert lines
    assert all(coverage(world, name).covered_until == last_line(ALL[name], world.now) for name in ALL)


@settings(deadline=None)
@given(moments, st.lists(gaps, max_size=5))
def test_two_schedulers_at_once_enqueue_what_one_does(start: datetime, looks: list[timedelta]) -> None:
    alone, together = World(start), World(start)
    for gap in [timedelta(0), *looks]:
        for world in (alone, together):
            world.now += gap
        alone.look_to_the_end()
        pair = [together.look(), together.look()]
        while pair:
            pair = [each for each in pair if step(each)]
    assert together.jobs == alone.jobs
    assert together.facts == alone.facts


def test_it_looks_again_when_something_is_due_and_now_and_then_anyway() -> None:
    world = World(at("21T12:00:10"))
    assert world.look_to_the_end() == 30
    world.now = at("21T12:44:52")
    assert world.look_to_the_end() == 8
    world.now = at("21T12:45:00")
    assert world.look_to_the_end() == 30
    assert "waypost/snapshot:2026-02-21T12:45:00Z" in world.jobs


def test_a_paused_schedule_enqueues_nothing_and_then_catches_up() -> None:
    world = World(NOON)
    world.look_to_the_end()
    before = len(covered(world.jobs, "FR"))
    world.facts["schedule:hourly"] = '{"covered_until":"2026-02-21T11:00:00Z","paused":true}'
    world.now += 3 * HOUR
    world.look_to_the_end()
    assert len(covered(world.jobs, "FR")) == before
    world.facts["schedule:hourly"] = '{"covered_until":"2026-02-21T11:00:00Z"}'
    world.look_to_the_end()
    assert [str(window.start.time()) for window in covered(world.jobs, "FR")[before:]] == [
        "11:00:00",
        "12:00:00",
        "13:00:00",
    ]


@pytest.mark.anyio
async def test_a_store_in_trouble_is_waited_for() -> None:
    world, looked = World(NOON), asyncio.Event()
    answers = iter([StoreTrouble("away"), StoreTrouble("still away")])

    async def clock() -> datetime:
        if trouble := next(answers, None):
            raise trouble
        looked.set()
        return world.now

    scheduler = Scheduler({}, CoverageBook(world), cast("JobStore", world), clock, NoJitter())
    running = asyncio.create_task(scheduler.run())
    await asyncio.wait({running, asyncio.create_task(looked.wait())}, return_when=asyncio.FIRST_COMPLETED)
    assert not running.done()
    running.cancel()


def covered(jobs: Iterable[str], country: str) -> list[Window]:
    found = [ShardKey.parse(job) for job in jobs if job.startswith(f"ocm/country:{country}/window:")]
    return [Window.parse(key["window"]) for key in found]


def coverage(world: World, name: str) -> Coverage:
    return to_the_end(CoverageBook(world).read(name)).coverage


# Tables in waypost.toml

GOOD = """
[schedule.hourly]
what = "windows"
country = "DE,FR"
every = "1h"
[schedule.nightly]
what = "full"
country = ["de", "fr"]
every = "1d"
at = 02:30:00
[schedule.snapshots]
what = "snapshot"
every = "45m"
[schedule.tidy]
what = "prune"
at = "04:00"
older_than = "30d"
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str, environ: dict[str, str] | None = None) -> Settings:
    Path("waypost.toml").write_text(text, encoding="utf-8")
    return load_settings(environ=environ or {})


def test_each_table_of_the_file_is_a_schedule() -> None:
    assert load(GOOD).schedules == {name: schedule for name, schedule in ALL.items() if name != "daily"}
    assert load('lease = "1m"').schedules == {}


def test_what_is_scheduled_is_shown_with_the_other_settings() -> None:
    found = load(GOOD, {"WAYPOST_SCHEDULE_TIDY_OLDER_THAN": "7d"}).found
    assert (found["schedule.hourly.every"].shown(), found["schedule.hourly.source"].origin) == ("1h", "default")
    assert found["schedule.tidy.older_than"].shown() == "7d"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", r"schedule\.x\.what \(default\): '' cannot be scheduled; choose one of windows, full"),
        ('what = "window"', r"schedule\.x\.what \(waypost\.toml\): .*Did you mean windows\?"),
        ('what = "windows"\ncountry = "UK"', r"schedule\.x\.country .*Did you mean GB\?"),
        ('what = "windows"\ncountry = "DE"\nevery = "2h"', r"schedule\.x\.every .*choose 1h or 1d"),
        ('what = "full"\ncountry = "DE"\nevery = "7d"', r"schedule\.x\.every .*there is 1d"),
        ('what = "full"\ncountry = "DE"\nat = "24:00"', r"schedule\.x\.at .*is not a time of day"),
        ('what = "full"\ncountry = "DE"\nat = "٠٢:٣٠"', r"schedule\.x\.at .*is not a time of day"),
        ('what = "snapshot"\nevery = "30s"', r"schedule\.x\.every .*is not a period from 1m to 366d"),
        ('what = "snapshot"\nevery = "90.5s"', r"schedule\.x\.every .*in whole seconds"),
        ('what = "snapshot"\nevery = 3600', r"schedule\.x\.every .*is not a duration"),
        ('what = "prune"\nolder_than = "old"', r"schedule\.x\.older_than .*is not a duration"),
        (
            'what = "prune"\nolder_then = "30d"',
            r"no setting schedule\.x\.older_then\. Did you mean schedule\.x\.older_th",
        ),
        ('what = "snapshot"\ncountry = "DE"', r"no setting schedule\.x\.country\."),
        ('what = "windows"\ncountry = "DE"\nat = "02:30"', r"no setting schedule\.x\.at\."),
        ('what = "snapshot"\n[schedule.x.every]\nhours = 1', r"no setting schedule\.x\.every\.hours"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused_by_the_name_of_its_field(table: str, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        load(f"[schedule.x]\n{table}\n")


@pytest.mark.parametrize("text", ['schedule = "hourly"', 'schedule.every = "1h"', '[[schedule]]\nwhat = "full"'])
def test_what_is_no_table_of_a_schedule_is_no_setting(text: str) -> None:
    with pytest.raises(SettingError, match="there is no setting schedule"):
        load(text)
