"""Links made over HTTP: one by one, over several connections, and ten thousand in one request."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx

from bench.importing.watching import RunFailed
from bench.jobs.cpu import family
from bench.places.load import Deck
from bench.places.serving import Asked, Effort, Peak, Say, best_connections, measure_peak, middle_peak, settle
from bench.places.systems import Serving

_SCRIPT = Path(__file__).parent / "programs" / "create.lua"
_BULK = "/v1/links/bulk"


@dataclass(frozen=True)
class Created:
    """`bulk` links a second, where many can be made in one request."""

    connections: int
    one_by_one: Peak
    bulk: float | None


def measure_creation(
    up: Mapping[str, Serving], effort: Effort, *, targets: int, bulk: int, in_bulk: Sequence[str], say: Say
) -> dict[str, Created]:
    """In turns; `in_bulk` are those who can."""
    paths = [f"https://www.example.org/some/page/number/{number}?utm_source=mail" for number in range(targets)]
    asked = {
        name: Asked(Deck(running.url, paths, script=_SCRIPT, status=HTTPStatus.CREATED), family(running.pid))
        for name, running in up.items()
    }
    connections = {name: best_connections(each, effort) for name, each in asked.items()}
    peaks: dict[str, list[Peak]] = {name: [] for name in up}
    bulks: dict[str, list[float]] = {name: [] for name in up}
    for _ in range(effort.rounds):
        for name, each in asked.items():
            peaks[name].append(measure_peak(each, connections[name], effort))
            if name in in_bulk:
                settle(effort.patience)
                bulks[name].append(_make_many(each.deck.url, paths, bulk))
    found = {}
    for name, rounds in peaks.items():
        many = sorted(bulks[name])[len(bulks[name]) // 2] if bulks[name] else None
        found[name] = Created(connections[name], middle_peak(rounds), many)
        say(f"creation: {name} {found[name].one_by_one.per_second:,.0f}/s, in bulk {many or 0:,.0f}/s")
    return found


def _make_many(url: str, targets: Sequence[str], count: int) -> float:
    lines = "".join(f'{{"target":"{targets[number % len(targets)]}"}}\n' for number in range(count))
    began = time.perf_counter()
    answer = httpx.post(
        url + _BULK, content=lines, headers={"Content-Type": "application/x-ndjson"}, timeout=120, trust_env=False
    )
    seconds = time.perf_counter() - began
    made = answer.text.count("\n")
    if answer.status_code != HTTPStatus.OK or made != count:
        raise RunFailed(f"{url}{_BULK}: {answer.status_code}, {made} of {count} lines: {answer.text[:500]}")
    return count / seconds
