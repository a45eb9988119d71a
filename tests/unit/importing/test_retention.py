"""Forgetting goes on after an error that nobody foresaw: otherwise what is old would stay for ever, in silence."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from waypost.importing import retention
from waypost.importing.retention import Retention

pytestmark = pytest.mark.anyio


class Pages:
    def __init__(self) -> None:
        self.asked = 0
        self.again = asyncio.Event()

    async def now(self) -> None:
        self.asked += 1
        if self.asked > 1:
            self.again.set()
        raise RuntimeError("a defect")


async def test_a_defect_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "_EVERY", timedelta())
    nothing: Any = None
    pages: Any = Pages()
    forgetting = Retention(nothing, pages, nothing, nothing, nothing, keep_jobs=1, keep_events=1).keep_forgetting()
    task = asyncio.create_task(forgetting)
    await asyncio.wait_for(pages.again.wait(), 10)
    task.cancel()
