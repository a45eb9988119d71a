"""The bad provider: the simulator in a process of its own, with a log of every request."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from drills.importing.plan import AT_REST, Plan, Rates
from drills.importing.programs import Program

_TIMEOUT = 60.0
# As long as the provider must have been left alone until nobody is on the way to it any more.
_QUIET_SECONDS = 1.0


class Provider:
    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self.log = log

    async def change(self, rates: Rates) -> dict[str, int]:
        """From now on at these rates; how many edits, deletions and additions there were so far."""
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            answer = await client.post(f"{self.url}/-/changes", json=asdict(rates))
        answer.raise_for_status()
        made: dict[str, int] = answer.json()["made"]
        return made

    async def rest(self) -> dict[str, int]:
        """Nothing changes any more."""
        return await self.change(AT_REST)

    async def export(self, file: Path) -> None:
        """All it has, a record a line."""
        async with (
            httpx.AsyncClient(timeout=_TIMEOUT) as client,
            client.stream("GET", f"{self.url}/-/export") as answer,
        ):
            answer.raise_for_status()
            with file.open("wb") as out:
                async for chunk in answer.aiter_bytes():
                    out.write(chunk)

    async def quiet(self) -> None:
        """Until nobody has asked for a second."""
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            before, since = -1, time.monotonic()
            while time.monotonic() - since < _QUIET_SECONDS:
                seen: dict[str, Any] = (await client.get(f"{self.url}/-/seen")).json()["seen"]
                if seen["requests"] != before or seen["in_flight"]:
                    before, since = seen["requests"], time.monotonic()
                await asyncio.sleep(_QUIET_SECONDS / 10)


@asynccontextmanager
async def provider(folder: Path, plan: Plan) -> AsyncIterator[Provider]:
    log = folder / "requests.ndjson"
    program = Program(
        folder,
        "provider",
        *("simulator", "run", "--port", "0", "--places", str(plan.places), "--seed", str(plan.seed)),
        *("--faults", plan.faults, "--log", str(log)),
        env={},
    )
    try:
        found = await program.says(r"is at (http://\S+)")
        yield Provider(found[1], log)
    finally:
        program.kill()
