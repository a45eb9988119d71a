"""The results as Markdown, which is also what the terminal shows: ratios first."""

from collections.abc import Iterable, Mapping, Sequence

from bench.jobs.measures import Drain
from bench.jobs.runs import Compared


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns aligned, the first to the left and the others to the right."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def drawn(line: Sequence[str]) -> str:
        cells = [cell.ljust(width) if not at else cell.rjust(width) for at, (cell, width) in _numbered(line, widths)]
        return f"| {' | '.join(cells)} |"

    rule = f"| {' | '.join('-' * width if not at else '-' * (width - 1) + ':' for at, width in enumerate(widths))} |"
    return "\n".join([drawn(lines[0]), rule, *map(drawn, lines[1:])])


def _ratio(one: float, other: float) -> str:
    """A run may be too short for the system to have counted any time."""
    return f"{one / other:.2f}" if other else "-"


def ratios(found: Sequence[Compared], *, to: str = "waypost") -> str:
    """Waypost against each: how many times as many jobs, and how many times as long until a job is picked up."""
    [ours] = [each for each in found if each.system == to]
    rows = [
        [
            each.system,
            f"{ours.drain.drained_per_second / each.drain.drained_per_second:.2f}",
            f"{ours.drain.per_second / each.drain.per_second:.2f}",
            _ratio(sum(each.drain.cpu_per_job), sum(ours.drain.cpu_per_job)),
            f"{each.pick_up.p50 / ours.pick_up.p50:.2f}",
            f"{each.pick_up.p99 / ours.pick_up.p99:.2f}",
        ]
        for each in found
        if each.system != to
    ]
    return table(
        ["Waypost is … times as good as", "drained", "enqueue to done", "CPU", "pick-up p50", "pick-up p99"], rows
    )


def figures(found: Sequence[Compared]) -> str:
    head = ["", "drained/s", "enqueue to done/s", "pick-up p50 ms", "p99 ms", "statements/job", "CPU us/job"]
    return table([*head, "of it the workers"], [_figures_of(each) for each in found])


def by_count(found: Mapping[int, Drain], what: str) -> str:
    first = next(iter(found.values())).drained_per_second
    rows = [
        [f"{count:,}", f"{each.drained_per_second:,.0f}", f"{each.drained_per_second / first:.2f}"]
        for count, each in found.items()
    ]
    return table([what, "drained/s", "to the first"], rows)


def stores(found: Sequence[Compared]) -> str:
    rows = [
        [
            each.system,
            f"{each.drain.drained_per_second:,.0f}",
            f"{each.drain.per_second:,.0f}",
            f"{each.pick_up.p50:.2f}",
            f"{each.pick_up.p99:.2f}",
        ]
        for each in found
    ]
    return table(["Waypost on", "drained/s", "enqueue to done/s", "pick-up p50 ms", "p99 ms"], rows)


def _figures_of(each: Compared) -> list[str]:
    workers, server = each.drain.cpu_per_job
    return [
        each.system,
        f"{each.drain.drained_per_second:,.0f}",
        f"{each.drain.per_second:,.0f}",
        f"{each.pick_up.p50:.2f}",
        f"{each.pick_up.p99:.2f}",
        f"{each.drain.statements_per_job:.4f}",
        f"{workers + server:.0f}",
        f"{workers:.0f}",
    ]


def _numbered(line: Sequence[str], widths: Sequence[int]) -> Iterable[tuple[int, tuple[str, int]]]:
    return enumerate(zip(line, widths, strict=True))
