"""The results as Markdown, which is also what the terminal shows: promises first, then ratios."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from bench.budget.drill import Drill
from bench.budget.latency import Latency
from bench.jobs.report import table

_LEAST_USED = 0.99
_MOST_CALLS = 1.3
_FAIR = 0.25
_MOST_RATIO = 1.3
# Of the rate, for requests that were late on their way.
_TOLERANCE = 0.05
_BURST = 1

Promise = tuple[str, str, str, bool]


def promises(drills: Sequence[Drill], latencies: Sequence[Latency]) -> str:
    """What Waypost promises, and the worst of what was found."""
    rows = [*_rates(drills), *_costs(drills, latencies)]
    cells = [[what, found, promised, "yes" if kept else "no"] for what, found, promised, kept in rows]
    return table(["Waypost, the worst of all rounds", "found", "promised", "kept"], cells)


def _rates(drills: Sequence[Drill]) -> Iterable[Promise]:
    setting = drills[0].setting
    rate = setting.rate
    allowed, at_once = setting.allowed + _BURST, int(rate + _BURST + _TOLERANCE * rate)
    used, came = min(each.used for each in drills), max(len(each.arrivals) for each in drills)
    arrived = max(each.most_in_a_second for each in drills)
    granted = max(each.most_granted_in_a_second for each in drills)
    yield "share of the rate used", f"{used:.1%}", f">= {_LEAST_USED:.0%}", used >= _LEAST_USED
    yield f"requests in {setting.seconds} s", f"{came:,}", f"<= {allowed:,}", came <= allowed
    yield "most turns granted in any second", str(granted), f"<= {at_once}", granted <= at_once
    yield "most arrivals in any second", str(arrived), f"<= {at_once}", arrived <= at_once


def _costs(drills: Sequence[Drill], latencies: Sequence[Latency]) -> Iterable[Promise]:
    calls = max(each.calls_per_token for each in drills)
    least, most = min(each.shares[0] for each in drills), max(each.shares[1] for each in drills)
    ratio = max(each.ratio for each in latencies)
    yield "calls to Redis per request", f"{calls:.2f}", f"<= {_MOST_CALLS}", calls <= _MOST_CALLS
    yield "least served worker, of an even share", f"{least:.0%}", f">= {1 - _FAIR:.0%}", least >= 1 - _FAIR
    yield "most served worker, of an even share", f"{most:.0%}", f"<= {1 + _FAIR:.0%}", most <= 1 + _FAIR
    yield "uncontended turn, in round trips", f"{ratio:.2f}", f"<= {_MOST_RATIO}", ratio <= _MOST_RATIO


def ratios(found: dict[str, list[Drill]], *, to: str = "waypost") -> str:
    """Waypost against each, by the means of all rounds."""
    ours = found[to]
    rows = [
        [
            system,
            f"{_mean_used(ours) / _mean_used(drills):.2f}",
            f"{_mean_calls(drills) / _mean_calls(ours):.1f}",
        ]
        for system, drills in found.items()
        if system != to
    ]
    return table(["Waypost is … times as good as", "rate used", "calls per request"], rows)


def figures(found: dict[str, list[Drill]]) -> str:
    rows = [_figures_of(each, number) for drills in found.values() for number, each in enumerate(drills, 1)]
    head = ["", "round", "rate used", "most granted in 1 s", "most arrived in 1 s", "calls/request"]
    return table([*head, "least served", "most served"], rows)


def latency(found: Sequence[Latency]) -> str:
    rows = [
        [str(number), f"{each.acquire:.0f}", f"{each.round_trip:.0f}", f"{each.ratio:.2f}"]
        for number, each in enumerate(found, 1)
    ]
    return table(["uncontended, round", "acquire p50 us", "round trip p50 us", "ratio"], rows)


def _figures_of(each: Drill, number: int) -> list[str]:
    least, most = each.shares
    return [
        each.system,
        str(number),
        f"{each.used:.1%}",
        str(each.most_granted_in_a_second),
        str(each.most_in_a_second),
        f"{each.calls_per_token:.2f}",
        f"{least:.0%}",
        f"{most:.0%}",
    ]


def _mean_used(drills: Sequence[Drill]) -> float:
    """What is more than allowed does not count."""
    return fmean(min(1.0, each.used) for each in drills)


def _mean_calls(drills: Sequence[Drill]) -> float:
    return fmean(each.calls_per_token for each in drills)
