"""The measurement over HTTP: every system in turns, so that whatever else the machine does strikes everybody alike."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low

import httpx

from bench.importing.watching import RunFailed
from bench.jobs.cpu import cpu_seconds, family
from bench.places.load import Answered, Deck, Held, held, peak, touch
from bench.places.questions import BOX_LIMIT, KINDS, Kind, Question
from bench.places.systems import Serving, System

Say = Callable[[str], None]
Up = Mapping[str, tuple[System, Serving]]
OF_THE_PEAK = 0.7
_LOOKED_AT = 200
_COMPARED = 20
# A machine on which less than this part of a core is at work is still.
_STILL = 0.25
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Effort:
    """How long and how often; `connections` are tried for one second each before, and the best ones are used.

    Before each measurement the machine should be still; `patience` is how many seconds to wait for that.
    """

    connections: tuple[int, ...]
    seconds: float
    rounds: int
    held_seconds: float
    core: int
    patience: float


@dataclass(frozen=True)
class Asked:
    """One system and one kind of question; `pids` are the server's processes.

    Right before each measurement `warmed` of the questions are asked, for those who forget answers after a while.
    """

    deck: Deck
    pids: list[int]
    warmed: int = 0


@dataclass(frozen=True)
class Peak:
    """`busy` is how much of its core the server used: with less than all of it, somebody else was the bottleneck."""

    answered: Answered
    busy: float

    @property
    def per_second(self) -> float:
        return self.answered.per_second


@dataclass(frozen=True)
class Found:
    connections: int
    peak: Peak
    held: Held


def answer_sizes(
    url: str, paths: Mapping[Kind, Callable[[Question], str]], asked: Sequence[Question]
) -> dict[Kind, int]:
    """Bytes of an answer, on average."""
    with httpx.Client(base_url=url, trust_env=False, headers={"Accept-Encoding": "identity"}, timeout=60) as client:
        return {
            kind: _mean([len(_get(client, ask(each))) for each in asked[:_LOOKED_AT]]) for kind, ask in paths.items()
        }


def check_agreement(up: Up, asked: Sequence[Question], *, to: str = "waypost") -> None:
    """Whoever is compared gives the same places: one by its id, all in a box that is not cut off, the nearest."""
    for kind in ("by id", "box of 100", "nearest 10"):
        found = {name: _places(*each, kind, asked[:_COMPARED]) for name, each in up.items() if name != "nginx"}
        for name, theirs in found.items():
            if any(one != other for one, other in zip(theirs, found[to], strict=False) if len(other) < BOX_LIMIT):
                raise RunFailed(f"{kind}: {name} gives other places than {to}")


def measure(up: Up, asked: Sequence[Question], effort: Effort, say: Say) -> dict[Kind, dict[str, Found]]:
    found: dict[Kind, dict[str, Found]] = {}
    for kind in KINDS:
        able = {name: each for name, each in up.items() if kind in each[0].paths}
        everybody = {
            name: Asked(Deck(running.url, [system.paths[kind](each) for each in asked]), family(running.pid))
            for name, (system, running) in able.items()
        }
        # Nobody gains by hearing the same id from all at once, and nginx is always asked for the same file.
        same_list = set(able) if kind == "by id" else {"nginx"}
        found[kind] = measure_in_turns(kind, everybody, effort, say, same_list=same_list)
    return found


def measure_in_turns(
    kind: str, everybody: Mapping[str, Asked], effort: Effort, say: Say, *, same_list: Collection[str]
) -> dict[str, Found]:
    """`same_list` are those of whom each connection may ask the same at the same time."""
    connections = {name: best_connections(each, effort) for name, each in everybody.items()}
    peaks: dict[str, list[Peak]] = {name: [] for name in everybody}
    for _ in range(effort.rounds):
        for name, each in everybody.items():
            peaks[name].append(measure_peak(each, connections[name], effort))
    middle = {name: middle_peak(found) for name, found in peaks.items()}
    holds: dict[str, list[Held]] = {name: [] for name in everybody}
    for _ in range(effort.rounds):
        for name, each in everybody.items():
            rate, is_same = OF_THE_PEAK * middle[name].per_second, name in same_list
            _prepare(each, effort)
            holds[name].append(
                held(each.deck, rate=rate, seconds=effort.held_seconds, core=effort.core, same_list=is_same)
            )
    for name, found in middle.items():
        say(f"{kind}: {name} {found.per_second:,.0f}/s with {connections[name]} connections")
    return {name: Found(connections[name], middle[name], _middle_held(holds[name])) for name in everybody}


def settle(patience: float) -> None:
    """Whoever was asked before may still work, on the same core, on what nobody waits for any more."""
    give_up = time.monotonic() + patience
    busy = _busy_ticks()
    while time.monotonic() < give_up:
        time.sleep(_LOOK_SECONDS)
        before, busy = busy, _busy_ticks()
        if busy - before <= _STILL * _LOOK_SECONDS * os.sysconf("SC_CLK_TCK"):
            return


def _prepare(asked: Asked, effort: Effort) -> None:
    settle(effort.patience)
    if asked.warmed:
        touch(asked.deck, asked.warmed, core=effort.core)
        settle(effort.patience)


def _busy_ticks() -> int:
    """Of all cores so far."""
    user, nice, system, _idle, _waiting, *others = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return user + nice + system + sum(others[:3])


def measure_peak(asked: Asked, connections: int, effort: Effort) -> Peak:
    _prepare(asked, effort)
    before = cpu_seconds(asked.pids)
    answered = peak(asked.deck, connections=connections, seconds=effort.seconds, core=effort.core)
    return Peak(answered, (cpu_seconds(asked.pids) - before) / answered.seconds)


def best_connections(asked: Asked, effort: Effort) -> int:
    if len(effort.connections) == 1:
        return effort.connections[0]
    rates = {}
    for count in effort.connections:
        _prepare(asked, effort)
        rates[count] = peak(asked.deck, connections=count, seconds=1, core=effort.core)
    return max(rates, key=lambda count: rates[count].per_second)


def middle_peak(found: Sequence[Peak]) -> Peak:
    rate = median_low(each.per_second for each in found)
    return next(each for each in found if each.per_second == rate)


def _middle_held(found: Sequence[Held]) -> Held:
    p99 = median_low(each.p99 for each in found)
    return next(each for each in found if each.p99 == p99)


def _places(system: System, running: Serving, kind: Kind, asked: Sequence[Question]) -> list[frozenset[str]]:
    """The ids in each answer; nothing from whoever is not asked such things."""
    if kind not in system.paths:
        return []
    with httpx.Client(base_url=running.url, trust_env=False, timeout=60) as client:
        return [_ids(client.get(system.paths[kind](each)).raise_for_status().json()) for each in asked]


def _ids(answer: dict[str, object]) -> frozenset[str]:
    features = answer.get("features", [answer])
    assert isinstance(features, list)
    return frozenset(each["id"] for each in features)


def _get(client: httpx.Client, path: str) -> bytes:
    return client.get(path).raise_for_status().content


def _mean(sizes: Sequence[int]) -> int:
    return round(sum(sizes) / len(sizes))
