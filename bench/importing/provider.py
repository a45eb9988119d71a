"""The simulated provider in a process of its own; warmed up, it is not what is measured."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import msgspec
import uvloop

from bench.importing.asking import AT_ONCE, Ask, parameters
from support.processes import Processes
from waypost.simulator.geography import COUNTRIES


@dataclass(frozen=True)
class Provider:
    url: str
    places: int
    countries: Sequence[str] = tuple(country.code for country in COUNTRIES)


class _Identified(msgspec.Struct, rename={"id": "ID"}):
    id: int


_ids = msgspec.json.Decoder(list[_Identified])


@contextmanager
def simulated(places: int) -> Iterator[Provider]:
    with TemporaryDirectory(prefix="waypost-bench-") as folder, Processes(Path(folder)) as processes:
        yield Provider(processes.simulator("--places", str(places)), places)


def warm_up(provider: Provider) -> float:
    """Have everything told once, so that it is kept; then places per second, told to one who throws them away."""
    asks = uvloop.run(_read_all(provider))
    began = time.monotonic()
    uvloop.run(_pour_out(provider, asks))
    return provider.places / (time.monotonic() - began)


async def _read_all(provider: Provider) -> list[Ask]:
    """The questions that it took."""
    asks: list[Ask] = []
    async with _client(provider) as client:
        for country in provider.countries:
            after: int | None = 0
            while after is not None:
                asks.append(Ask(country, after))
                answer = await client.get("/v3/poi", params=parameters(asks[-1]))
                records = _ids.decode(answer.raise_for_status().content)
                after = records[-1].id if records else None
    return asks


async def _pour_out(provider: Provider, asks: Sequence[Ask]) -> None:
    left = iter(asks)

    async def read() -> None:
        for ask in left:
            async with client.stream("GET", "/v3/poi", params=parameters(ask)) as answer:
                async for _ in answer.aiter_raw():
                    pass

    async with _client(provider) as client:
        await asyncio.gather(*(read() for _ in range(AT_ONCE)))


def _client(provider: Provider) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=provider.url, headers={"Accept-Encoding": "gzip"}, timeout=60, trust_env=False)
