"""Many workers in several processes share one budget, while processes, Redis and the provider fail them.

The provider in the middle notes who came when, and that decides. A busy machine may let a worker come late, never
early: a turn counts for a moment after its time, and is lost then. A request may be on its way for longer, when the
machine is busy. So a window may also see what was due in the half second before it, and no more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from redis import Redis

from support.arrivals.notes import SECOND, Arrival, most_within
from support.arrivals.scene import Child, Scene, scene
from support.servers.private import PrivateServer, private_redis

RATE, BURST = 20, 1
LATE = SECOND // 2
# So many that their turns reach two seconds ahead: what goes wrong with those who wait is seen.
PROCESSES, WORKERS = 4, 10
EVERYBODY = PROCESSES * WORKERS
# Whoever has not come again when all together came so often never will.
PATIENCE = 5 * EVERYBODY


@pytest.fixture
def redis() -> Iterator[tuple[str, PrivateServer]]:
    with private_redis() as started:
        yield started


@pytest.fixture
def busy(redis: tuple[str, PrivateServer]) -> Iterator[Scene]:
    """Everybody at work, most of them waiting for their turns."""
    with scene(redis[0], RATE) as made:
        made.add(PROCESSES, workers=WORKERS)
        made.provider.wait(EVERYBODY)
        yield made


def assert_the_rate_held(arrivals: Sequence[Arrival]) -> None:
    for seconds in range(1, 5):
        most = most_within(seconds * SECOND, [each.came for each in arrivals])
        assert most <= RATE * (seconds + LATE / SECOND) + BURST, f"{most} came within {seconds} s"


def assert_everybody_goes_on(played: Scene, crews: Sequence[Child], *, times: int = 2) -> None:
    """Each comes so often again. The first time may be with the turn that it has already."""
    seen = len(played.provider.arrivals())
    names = [f"{crew.pid}-{number}" for crew in crews for number in range(WORKERS)]
    came: Counter[str] = Counter()
    for more in range(1, PATIENCE):
        played.provider.wait(seen + more)
        came = Counter(each.worker for each in played.provider.arrivals()[seen:])
        if all(came[name] >= times for name in names):
            break
    assert {name: came[name] for name in names if came[name] < times} == {}
    assert_the_rate_held(played.provider.arrivals())


def test_the_rate_holds_while_workers_are_killed_and_others_come(busy: Scene) -> None:
    for crew in busy.crews[:2]:
        crew.kill()
    new = busy.add(2, workers=WORKERS)
    assert_everybody_goes_on(busy, [*busy.crews[2:4], *new])


def test_the_rate_holds_while_redis_is_killed_and_comes_back(busy: Scene, redis: tuple[str, PrivateServer]) -> None:
    _, server = redis
    server.kill()
    server.start()
    assert_everybody_goes_on(busy, busy.crews)


def test_the_rate_holds_while_redis_forgets_everything(busy: Scene, redis: tuple[str, PrivateServer]) -> None:
    url, _ = redis
    with Redis.from_url(url, socket_timeout=10) as client:
        client.flushall()
    assert_everybody_goes_on(busy, busy.crews)


def in_three_seconds() -> tuple[str, float]:
    return "3", 3.0


def at_a_date() -> tuple[str, float]:
    """A date has whole seconds."""
    now = datetime.now(UTC)
    until = now.replace(microsecond=0) + timedelta(seconds=4)
    return format_datetime(until, usegmt=True), (until - now).total_seconds()


@pytest.mark.parametrize("told", [in_three_seconds, at_a_date])
def test_who_is_told_to_wait_makes_everybody_wait(busy: Scene, told: Callable[[], tuple[str, float]]) -> None:
    provider = busy.provider
    provider.hold()
    # Some of them wait for an answer and the others for their turns, when all of the former are refused at once.
    provider.wait_for_more(EVERYBODY // 4)
    retry_after, seconds = told()
    refused = provider.refuse(retry_after)
    provider.allow()
    # Turns from before are void.
    assert_everybody_goes_on(busy, busy.crews, times=1)
    under_way, over = refused + SECOND, refused + round(seconds * SECOND)
    asked = [each for each in provider.arrivals() if under_way < each.came < over]
    assert not asked
