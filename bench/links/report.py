"""The results as Markdown, which is also what the terminal shows: aims first, then ratios."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bench.jobs.report import table
from bench.links.creating import Created
from bench.links.growth import Growth
from bench.links.statistics import Counting
from bench.places.load import keeps_up
from bench.places.serving import OF_THE_PEAK, Found

_OF_NGINX = 0.5
_TIMES_PLAIN = 10
_PLAIN = "FastAPI and Redis"
_MOST_P99_MS = 5.0
_LEAST_CREATED = 1_000
_CREATED_ON = "waypost, PostgreSQL"
_MOST_PHRASE_MICROS = 10
# Costs that stay within this, from the fewest links to the most, are flat: a tree grows by a level now and then.
_FLAT = 1.5
_MOST_COUNT_MS = 10

Aim = tuple[str, str, str, bool]


@dataclass(frozen=True)
class Results:
    followed: Mapping[str, Found]
    # By Waypost's servers.
    lost: Mapping[str, int]
    created: Mapping[str, Created]
    phrases: Mapping[str, float]
    growth: Growth
    counting: Mapping[str, Counting]


def aims(found: Results) -> str:
    rows = [*_following(found), *_creating(found), *_growing(found), *_counting(found)]
    cells = [[what, seen, aimed, "yes" if kept else "no"] for what, seen, aimed, kept in rows]
    return table(["Waypost", "found", "aimed", "kept"], cells)


def _ours(found: Results) -> list[str]:
    return [name for name in found.followed if name.startswith("waypost")]


def _following(found: Results) -> Iterator[Aim]:
    for name in _ours(found):
        ratio = _times(found.followed, name, "nginx")
        yield f"redirects/s, to nginx: {name}", f"{ratio:.2f}", f">= {_OF_NGINX}", ratio >= _OF_NGINX
        ratio = _times(found.followed, name, _PLAIN)
        yield f"redirects/s, to {_PLAIN}: {name}", f"{ratio:.1f}", f">= {_TIMES_PLAIN}", ratio >= _TIMES_PLAIN
        held = found.followed[name].held
        kept = held.p99 < _MOST_P99_MS and keeps_up(held)
        yield f"p99 at {OF_THE_PEAK:.0%} of the peak: {name}", f"{held.p99:.1f} ms", f"< {_MOST_P99_MS:g} ms", kept
        yield f"visits lost meanwhile: {name}", f"{found.lost[name]:,}", "0", not found.lost[name]


def _creating(found: Results) -> Iterator[Aim]:
    rate = found.created[_CREATED_ON].one_by_one.per_second
    yield f"links made/s, one by one: {_CREATED_ON}", f"{rate:,.0f}", f">= {_LEAST_CREATED:,}", rate >= _LEAST_CREATED
    for language, micros in found.phrases.items():
        kept = micros <= _MOST_PHRASE_MICROS
        yield f"a phrase: {language}", f"{micros:.1f} us", f"<= {_MOST_PHRASE_MICROS} us", kept


def _growing(found: Results) -> Iterator[Aim]:
    fewest, most = min(found.growth), max(found.growth)
    for kind in found.growth[fewest]:
        ratio = found.growth[most][kind] / found.growth[fewest][kind]
        yield f"{kind}: {most:,} links, to {fewest:,}", f"{ratio:.2f}", f"<= {_FLAT}", ratio <= _FLAT


def _counting(found: Results) -> Iterator[Aim]:
    for name, each in found.counting.items():
        question, millis = max(each.millis.items(), key=lambda item: item[1])
        what = f"slowest question about {each.visits:,} visits ({question}): {name}"
        yield what, f"{millis:.1f} ms", f"< {_MOST_COUNT_MS} ms", millis < _MOST_COUNT_MS


def ratios(found: Results) -> str:
    others = [name for name in found.followed if name not in _ours(found)]
    rows = [[other, *(f"{_times(found.followed, name, other):.2f}" for name in _ours(found))] for other in others]
    return table(["Waypost's redirects/s are … times those of", *_ours(found)], rows)


def following(found: Results) -> str:
    """At the peak, and at a fixed part of it; where the rate could not be held it says what was answered instead."""
    rows = [[name, *_cells(each)] for name, each in found.followed.items()]
    held = f"at {OF_THE_PEAK:.0%}: redirects/s"
    head = ["", "redirects/s", "connections", "of its core", "p50 ms", "p99 ms"]
    return table([*head, held, "p50 ms", "p99 ms"], rows)


def creating(found: Results) -> str:
    rows = [
        [
            name,
            f"{each.one_by_one.per_second:,.0f}",
            str(each.connections),
            f"{each.one_by_one.busy:.0%}",
            f"{each.one_by_one.answered.p50:.1f}",
            f"{each.one_by_one.answered.p99:.1f}",
            f"{each.bulk:,.0f}" if each.bulk else "-",
        ]
        for name, each in found.created.items()
    ]
    head = ["links made", "one by one/s", "connections", "of its core", "p50 ms", "p99 ms", "in bulk/s"]
    return table(head, rows)


def growing(found: Results) -> str:
    first = found.growth[min(found.growth)]
    rows = [
        [f"{count:,}", *(f"{each[kind]:.1f} ({each[kind] / first[kind]:.2f})" for kind in first)]
        for count, each in sorted(found.growth.items())
    ]
    return table(["links", *(f"{kind}, us (to the first)" for kind in first)], rows)


def counting(found: Results) -> str:
    questions = next(iter(found.counting.values())).millis
    rows = [
        [name, f"{each.visits:,}", f"{each.per_second:,.0f}", *(f"{each.millis[asked]:.2f}" for asked in questions)]
        for name, each in found.counting.items()
    ]
    return table(["", "visits", "counted/s", *(f"{asked}, ms" for asked in questions)], rows)


def _times(found: Mapping[str, Found], one: str, other: str) -> float:
    return found[one].peak.per_second / found[other].peak.per_second


def _cells(each: Found) -> list[str]:
    held = f"{each.held.asked:,.0f}"
    if not keeps_up(each.held):
        held = f"{each.held.answered:,.0f} of {held}"
    return [
        f"{each.peak.per_second:,.0f}",
        str(each.connections),
        f"{each.peak.busy:.0%}",
        f"{each.peak.answered.p50:.2f}",
        f"{each.peak.answered.p99:.2f}",
        held,
        f"{each.held.p50:.2f}",
        f"{each.held.p99:.2f}",
    ]
