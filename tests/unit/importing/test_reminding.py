"""Looking after imports goes on after an error that nobody foresaw: otherwise what a job store forgot would be lost."""

import asyncio
from typing import Any

import pytest

from waypost.importing import reminding

pytestmark = pytest.mark.anyio


class Imports:
    def __init__(self) -> None:
        self.asked = 0
        self.again = asyncio.Event()

    async def latest(self, _count: int) -> None:
        self.asked += 1
        if self.asked > 1:
            self.again.set()
        raise RuntimeError("a defect")


async def test_a_defect_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reminding, "_EVERY_SECONDS", 0.0)
    nothing: Any = None
    imports: Any = Imports()
    task = asyncio.create_task(reminding.keep_reminding(nothing, imports, nothing, nothing, retention=None))
    await asyncio.wait_for(imports.again.wait(), 10)
    task.cancel()
