"""Repeated work goes on after any error, and one failure after another is told once."""

import asyncio
from collections.abc import Sequence

import pytest
from structlog.testing import capture_logs

from waypost.adapters.errors import StoreRefused
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

pytestmark = pytest.mark.anyio

REFUSED = StoreRefused("the password was changed")
DEFECT = RuntimeError("a defect")


async def told(outcomes: Sequence[Exception | None]) -> list[str]:
    """What is logged while the work ends in these ways, one after the other."""
    left, done = iter(outcomes), asyncio.Event()

    async def work() -> None:
        outcome = next(left, done)
        if outcome is done:
            done.set()
        elif isinstance(outcome, Exception):
            raise outcome

    with capture_logs() as lines:
        task = asyncio.create_task(repeat(work, 0, log=get_logger("test"), failing="nothing is counted"))
        await done.wait()
        task.cancel()
    return [line["event"] for line in lines]


async def test_no_error_ends_it() -> None:
    expected = ["nothing is counted", "nothing is counted, because of a defect", "nothing is counted"]
    assert await told([REFUSED, DEFECT, REFUSED]) == expected


async def test_the_same_failure_is_told_once_until_the_work_is_done_again() -> None:
    assert await told([REFUSED, REFUSED, REFUSED]) == ["nothing is counted"]
    assert await told([REFUSED, None, REFUSED]) == ["nothing is counted"] * 2
