"""The results as Markdown, which is also what the terminal shows: aims first, then ratios."""

from collections.abc import Iterator, Mapping
from statistics import median

from bench.jobs.report import table
from bench.places.building import PROCESSES, Built
from bench.places.growth import GROWING, Growth
from bench.places.load import keeps_up
from bench.places.memory import Memory
from bench.places.questions import KINDS, Kind
from bench.places.readers import Readers
from bench.places.serving import OF_THE_PEAK, Found

_OF_NGINX: dict[Kind, float] = {"by id": 0.5, "box of 100": 0.35}
_TIMES_PEERS = 40
_PEERS = ("tipg", "pygeoapi")
_MOST_P99_MS = 5.0
_OF_THE_LOOP = 0.8
_MOST_BUILD_MIB, _MOST_ANONYMOUS_MIB = 600, 80
_MOST_OPEN_SECONDS = 0.3
# One copy of the pages for all.
_MOST_COPIES = 1.05

Aim = tuple[str, str, str, bool]
Served = Mapping[Kind, Mapping[str, Found]]


def aims(served: Served, built: Built, readers: Readers, reader: Memory) -> str:
    """What Waypost aims at; `reader` is the server that was measured, when it was done."""
    rows = [*_serving(served), *_building(built), *_reading(readers, reader)]
    cells = [[what, found, aimed, "yes" if kept else "no"] for what, found, aimed, kept in rows]
    return table(["Waypost", "found", "aimed", "kept"], cells)


def _serving(served: Served) -> Iterator[Aim]:
    for kind, least in _OF_NGINX.items():
        ratio = _times(served[kind], "nginx")
        yield f"{kind}: requests/s, to nginx", f"{ratio:.2f}", f">= {least}", ratio >= least
    for kind in KINDS:
        for peer in _PEERS:
            if peer in served[kind]:
                ratio = _times(served[kind], peer)
                yield f"{kind}: requests/s, to {peer}", f"{ratio:.0f}", f">= {_TIMES_PEERS}", ratio >= _TIMES_PEERS
    for kind in KINDS:
        found = served[kind]["waypost"].held
        kept = found.p99 < _MOST_P99_MS and keeps_up(found)
        yield f"{kind}: p99 at {OF_THE_PEAK:.0%} of the peak", f"{found.p99:.1f} ms", f"< {_MOST_P99_MS:g} ms", kept


def _building(built: Built) -> Iterator[Aim]:
    found = built.of_the_loop
    yield "build: speed-up by 2 processes, to a loop's", f"{found:.2f}", f">= {_OF_THE_LOOP}", found >= _OF_THE_LOOP
    kept = built.peak < _MOST_BUILD_MIB
    yield "build: most memory, all processes", f"{built.peak:.0f} MiB", f"< {_MOST_BUILD_MIB} MiB", kept


def _reading(readers: Readers, reader: Memory) -> Iterator[Aim]:
    opened, anonymous, copies = readers.open_seconds, reader.anonymous, readers.copies
    yield "open to ready, warm", f"{opened:.2f} s", f"< {_MOST_OPEN_SECONDS} s", opened < _MOST_OPEN_SECONDS
    kept = anonymous < _MOST_ANONYMOUS_MIB
    yield "anonymous memory of a reader, after all this", f"{anonymous:.0f} MiB", f"< {_MOST_ANONYMOUS_MIB} MiB", kept
    what = f"copies of the pages, {len(readers.memories)} readers"
    yield what, f"{copies:.2f}", f"<= {_MOST_COPIES}", copies <= _MOST_COPIES


def ratios(served: Served) -> str:
    names = [name for name in served["by id"] if name != "waypost"]
    rows = [[name, *(_ratio(served[kind], name) for kind in KINDS)] for name in names]
    return table(["Waypost's requests/s are … times those of", *KINDS], rows)


def figures(served: Served) -> str:
    """At the peak, and at a fixed part of it; where the rate could not be held it says what was answered instead."""
    rows = [[f"{kind}: {name}", *_cells(each)] for kind in KINDS for name, each in served[kind].items()]
    held = f"at {OF_THE_PEAK:.0%}: requests/s"
    return table(["", "requests/s", "connections", "of its core", "p50 ms", "p99 ms", held, "p50 ms", "p99 ms"], rows)


def building(built: Built, count: int) -> str:
    rows = [
        [
            str(processes),
            f"{median(built.seconds[processes]):.1f}",
            f"{count / median(built.seconds[processes]):,.0f}",
            f"{median(built.loop_seconds[processes]):.1f}",
        ]
        for processes in PROCESSES
    ]
    rows.append(["speed-up", f"{built.speed_up:.2f}", "", f"{built.loop_speed_up:.2f}"])
    return table(["build with processes", "seconds", "places/s", "pure loop, seconds"], rows)


def reading(readers: Readers) -> str:
    rows = [
        [
            str(len(readers.memories)),
            f"{readers.open_seconds:.2f}",
            f"{readers.start_seconds:.2f}",
            f"{sum(each.resident for each in readers.memories):,.0f}",
            f"{sum(each.shares for each in readers.memories):,.0f}",
            f"{max(each.mapped for each in readers.memories):,.0f}",
            f"{sum(each.mapped_shares for each in readers.memories):,.0f}",
            f"{max(each.anonymous for each in readers.memories):,.0f}",
        ]
    ]
    head = ["readers", "open to ready s", "start to ready s", "resident MiB", "with shared pages once"]
    return table([*head, "of the snapshot, one", "all together", "anonymous, the most"], rows)


def growing(growth: Growth) -> str:
    first = growth[min(growth)]
    rows = [
        [f"{count:,}", *(f"{found[kind]:.1f} ({found[kind] / first[kind]:.2f})" for kind in GROWING)]
        for count, found in sorted(growth.items())
    ]
    return table(["places", *(f"{kind}, us (to the first)" for kind in GROWING)], rows)


def _times(found: Mapping[str, Found], other: str) -> float:
    return found["waypost"].peak.per_second / found[other].peak.per_second


def _ratio(found: Mapping[str, Found], other: str) -> str:
    return f"{_times(found, other):.2f}" if other in found else "-"


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
