"""The results as Markdown, which is also what the terminal shows: promises first, then ratios."""

from collections.abc import Iterator, Mapping

from bench.importing.runs import Found, Import
from bench.jobs.report import table

_MOST_MIB = 250
_MOST_GROWTH = 1.2
_FIGURES = ("places/s", "wall s", "CPU us/place", "of it the server", "peak MiB", "rows written")

Promise = tuple[str, str, str, bool]


def promises(ours: Mapping[str, Found], memory: Mapping[int, Mapping[str, float]]) -> str:
    """What Waypost promises, by store."""
    rows = [*_writes_nothing(ours), *_memory(memory)]
    cells = [[what, found, promised, "yes" if kept else "no"] for what, found, promised, kept in rows]
    return table(["Waypost", "found", "promised", "kept"], cells)


def _writes_nothing(ours: Mapping[str, Found]) -> Iterator[Promise]:
    for store, found in ours.items():
        if found.again:
            written = found.again.written
            yield f"{store}: rows of places written when nothing has changed", f"{written:,}", "0", not written


def _memory(memory: Mapping[int, Mapping[str, float]]) -> Iterator[Promise]:
    least, most = min(memory), max(memory)
    for store, peak in memory[most].items():
        yield f"{store}: most memory, {most:,} places", f"{peak:.0f} MiB", f"<= {_MOST_MIB} MiB", peak <= _MOST_MIB
        if most > least:
            growth = peak / memory[least][store]
            what = f"{store}: the same, to {least:,} places"
            yield what, f"{growth:.2f}", f"<= {_MOST_GROWTH}", growth <= _MOST_GROWTH


def ratios(ours: Found, others: Mapping[str, Found]) -> str:
    """Waypost against each, on PostgreSQL."""
    rows = [
        [
            name,
            f"{each.first.seconds / ours.first.seconds:.2f}",
            _again(each, ours),
            f"{sum(each.first.cpu_per_place) / sum(ours.first.cpu_per_place):.2f}",
            f"{each.first.peak / ours.first.peak:.2f}",
        ]
        for name, each in others.items()
    ]
    return table(["Waypost is … times as good as", "places/s", "nothing changed", "CPU", "memory"], rows)


def figures(found: Mapping[str, Found]) -> str:
    return table(["", *_FIGURES], [[name, *_cells(each.first)] for name, each in found.items()])


def again(found: Mapping[str, Found]) -> str:
    rows = [[name, *_cells(each.again)] for name, each in found.items() if each.again]
    return table(["nothing changed", *_FIGURES], rows)


def by_processes(found: Mapping[str, Mapping[int, Found]]) -> str:
    """By store, then by their number."""
    rows = [
        [f"{store}, {count}", f"{each.first.per_second:,.0f}", _to_first(counts, each), f"{each.first.peak:.0f}"]
        for store, counts in found.items()
        for count, each in counts.items()
    ]
    return table(["worker processes", "places/s", "to one", "peak MiB of one"], rows)


def by_cores(found: Mapping[str, Mapping[int, Import]]) -> str:
    """By store, then by the number of cores for everything."""
    rows = [
        [f"{store}, {count}", f"{each.per_second:,.0f}", f"{each.per_second / counts[1].per_second:.2f}"]
        for store, counts in found.items()
        for count, each in counts.items()
    ]
    return table(["cores for everything, a worker process each", "places/s", "to one core"], rows)


def _to_first(counts: Mapping[int, Found], each: Found) -> str:
    one = next(iter(counts.values()))
    return f"{each.first.per_second / one.first.per_second:.2f}"


def _again(each: Found, ours: Found) -> str:
    return f"{each.again.seconds / ours.again.seconds:.2f}" if each.again and ours.again else "-"


def _cells(each: Import) -> list[str]:
    own, server = each.cpu_per_place
    return [
        f"{each.per_second:,.0f}",
        f"{each.wall_seconds:.1f}",
        f"{own + server:.0f}",
        f"{server:.0f}",
        f"{each.peak:.0f}",
        f"{each.written:,}",
    ]
