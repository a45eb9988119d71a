"""The watch over schedules goes on after any error: otherwise nobody would hear of the next one."""

import asyncio
from typing import Any

import pytest

from support.memory_jobs import MemoryJobStore
from waypost.adapters.errors import StoreRefused
from waypost.scaling.schedules import schedule_watch
from waypost.scaling.schedules.schedule_watch import ScheduleWatch

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("error", [StoreRefused("the password was changed"), RuntimeError("a defect")])
async def test_an_error_does_not_end_it(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(schedule_watch, "_EVERY_SECONDS", 0.0)
    asked = 0
    again = asyncio.Event()

    async def clock() -> Any:
        nonlocal asked
        asked += 1
        if asked > 1:
            again.set()
        raise error

    book: Any = None
    task = asyncio.create_task(ScheduleWatch({}, book, MemoryJobStore(), clock).keep_looking())
    await asyncio.wait_for(again.wait(), 10)
    task.cancel()
