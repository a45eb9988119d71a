"""The bad provider: the simulator in a process of its own, with a log of every request."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

from drills.importing.plan import AT_REST, Plan, Rates
from drills.importing.programs import Program
from support.servers.sharing import free_port

_TIMEOUT = 60.0
# As long as the provider must have been left alone until nobody is on the way to it any more.
_QUIET_SECONDS = 1.0


@dataclass(frozen=True)
class Absence:
    """On the monotonic clock, and the highest id that it had then: later ones it may give to others afterwards."""

    began: float
    ended: float
    highest_id: int


class Provider:
    def __init__(self, folder: Path, plan: Plan) -> None:
        self.log = folder / "requests.ndjson"
        self.absences: list[Absence] = []
        self._folder = folder
        self._plan = plan
        self._port = free_port()
        self._kept = folder / "provider-before.ndjson"
        self._rates = self._rates_before = AT_REST
        self._made_before: Counter[str] = Counter()
        self._starts = 0
        self._program: Program | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    async def start(self, *more: str) -> None:
        self._starts += 1
        self._program = Program(
            self._folder,
            f"provider-{self._starts}",
            *("simulator", "run", "--port", str(self._port), "--faults", self._plan.faults, "--log", str(self.log)),
            *more,
            env={},
        )
        await self._program.says(r"is at (http://\S+)")

    async def change(self, rates: Rates) -> Mapping[str, int]:
        """From now on at these rates; how many edits, deletions and additions there were so far."""
        self._rates = rates
        async with httpx.AsyncClient(timeout=_TIMEOUT) as client:
            answer = await client.post(f"{self.url}/-/changes", json=asdict(rates))
        answer.raise_for_status()
        return self._made_before + Counter(answer.json()["made"])

    async def rest(self) -> Mapping[str, int]:
        """Nothing changes any more."""
        return await self.change(AT_REST)

    async def prepare_to_go(self) -> None:
        """Come to rest, and write down all it has, so that it can go from one moment to the next."""
        self._rates_before = self._rates
        self._made_before = Counter(await self.rest())
        await self.export(self._kept)

    async def be_away(self, seconds: float) -> None:
        """Killed, for so long; then it comes back to the same address with all it had, and goes on changing."""
        self.kill()
        began, highest = time.monotonic(), _highest_id(self._kept)
        await asyncio.sleep(seconds)
        await self.start("--file", str(self._kept), "--seed", str(self._plan.seed + 1))
        self.absences.append(Absence(began, time.monotonic(), highest))
        await self.change(self._rates_before)

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

    def kill(self) -> None:
        if self._program:
            self._program.kill()


@asynccontextmanager
async def provider(folder: Path, plan: Plan) -> AsyncIterator[Provider]:
    found = Provider(folder, plan)
    try:
        await found.start("--places", str(plan.places), "--seed", str(plan.seed), "--faults-at", plan.faults_at)
        yield found
    finally:
        found.kill()


class _Record(msgspec.Struct):
    ID: int


def _highest_id(export: Path) -> int:
    decoder = msgspec.json.Decoder(_Record)
    with export.open("rb") as lines:
        return max(decoder.decode(line).ID for line in lines)
