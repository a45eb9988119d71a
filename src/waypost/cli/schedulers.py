"""The command `waypost scheduler`, and its verbs."""

import asyncio
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json, with_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from waypost.scaling.schedules.listing import ListedSchedule
    from waypost.scaling.schedules.schedule_trouble import ScheduleTrouble
    from waypost.settings import Settings

group = Group(
    "scheduler",
    help="Enqueue what is due: imports, snapshots, pruning.",
    examples=("waypost scheduler run", "waypost scheduler list", "waypost scheduler pause nightly"),
)


@group.command("run", examples=("waypost scheduler run", "WAYPOST_HEALTH_PORT=8082 waypost scheduler run"))
@with_settings
def run(load: Load) -> int:
    """Enqueue whatever the schedules in waypost.toml have due, until Ctrl-C or SIGTERM.

    What fell due while no scheduler ran is caught up with. Several may run: together they enqueue everything once.
    `waypost worker run` does the work.
    """
    from waypost.roles.kit.event_loop import run as run_role
    from waypost.roles.scheduler import run_scheduler

    settings = load()

    def on_start() -> None:
        say(f"the scheduler looks after {', '.join(settings.schedules)}; Ctrl-C ends it")

    _, stop = run_role(lambda stop: run_scheduler(settings, stop, on_start))
    return stop.exit_code


@group.command("list", examples=("waypost scheduler list", "waypost scheduler list --check"))
@click.option("--check", is_flag=True, help="Also say what is dead or overdue, with exit code 1.")
@with_json
def list_schedules(load: Load, *, check: bool, as_json: bool) -> int:
    """Each schedule: what it enqueues, when it is due next, and up to when everything is covered."""
    from waypost.importing.check_schedules import EXAMPLE

    found, wrong = asyncio.run(_look_up(load()))
    if as_json:
        print_json(found)
    elif not found:
        say(f"no schedules; next: add one to waypost.toml, such as: {EXAMPLE}")
    else:
        _print(found)
    if not check:
        return 0
    for line in wrong:
        (say if as_json else print_line)(line)
    return 1 if wrong else 0


@group.command("pause", examples=("waypost scheduler pause nightly",))
@click.argument("name")
@with_json
def pause(load: Load, name: str, *, as_json: bool) -> None:
    """Enqueue nothing more of one schedule, on any scheduler, until it is resumed."""
    _set(load, name, paused=True, as_json=as_json)


@group.command("resume", examples=("waypost scheduler resume nightly",))
@click.argument("name")
@with_json
def resume(load: Load, name: str, *, as_json: bool) -> None:
    """Go on with a paused schedule: as after any time away, what fell due meanwhile is caught up with."""
    _set(load, name, paused=False, as_json=as_json)


def _set(load: Load, name: str, *, paused: bool, as_json: bool) -> None:
    changed = asyncio.run(_set_paused(load(), name, paused=paused))
    told = f"{name} is paused" if paused else f"{name} goes on; it is due {_time(changed.next_due)}"
    print_result(changed, told, as_json=as_json)


async def _look_up(settings: "Settings") -> "tuple[list[ListedSchedule], list[str]]":
    """Lists the schedules, also where there is no store yet, and what is wrong with them, a line each."""
    from waypost.bootstrap.databases import NoStore
    from waypost.bootstrap.stores import open_stores
    from waypost.kernel.clock import utc_now
    from waypost.scaling.schedules.coverage_book import CoverageBook
    from waypost.scaling.schedules.listing import list_schedules
    from waypost.scaling.schedules.schedule_trouble import count_dead, look_for_trouble

    schedules, every = settings.schedules, {name: _every(settings, name) for name in settings.schedules}
    try:
        async with open_stores(settings, must_exist=True) as stores:
            book, now = CoverageBook(stores.facts), await stores.pages.now()
            trouble = await look_for_trouble(schedules, book, stores.jobs, now)
            listed = await list_schedules(schedules, every, book, now, trouble)
            return listed, _lines(trouble, await count_dead(stores.jobs))
    except NoStore:
        return await list_schedules(schedules, every, None, utc_now()), []


def _lines(trouble: "Mapping[str, ScheduleTrouble]", dead: int) -> list[str]:
    lines = [f"{name}: {_what(each)}; next: {each.next_step}" for name, each in trouble.items() if each.next_step]
    # What several schedules want is counted for each of them.
    others = dead - sum(each.dead for each in trouble.values())
    if others > 0:
        lines.append(f"{_dead(dead)}; next: waypost job list --status dead")
    return lines


def _what(trouble: "ScheduleTrouble") -> str:
    overdue = f"overdue since {_time(trouble.overdue_since)}" if trouble.overdue_since else ""
    return ", ".join(filter(None, (_dead(trouble.dead), overdue)))


def _dead(count: int) -> str:
    return f"{count} dead {'job' if count == 1 else 'jobs'}" if count else ""


async def _set_paused(settings: "Settings", name: str, *, paused: bool) -> "ListedSchedule":
    from waypost.bootstrap.stores import open_stores
    from waypost.importing.check_schedules import refuse_without_schedules
    from waypost.scaling.schedules.coverage_book import CoverageBook
    from waypost.scaling.schedules.listing import find_schedule, list_schedule

    refuse_without_schedules(settings.schedules)
    schedule = find_schedule(settings.schedules, name)
    async with open_stores(settings) as stores:
        coverage = await CoverageBook(stores.facts).set_paused(name, paused=paused)
        return list_schedule(name, schedule, _every(settings, name), coverage, await stores.pages.now())


def _every(settings: "Settings", name: str) -> str:
    return settings.found[f"schedule.{name}.every"].raw


def _print(found: "list[ListedSchedule]") -> None:
    rows = [("name", "what", "scope", "every", "next due", "covered until")]
    rows += [
        (
            each.name,
            each.what,
            each.scope or "-",
            each.every,
            "paused" if each.paused else _time(each.next_due),
            _time(each.covered_until),
        )
        for each in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print_line("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _time(moment: "datetime | None") -> str:
    from waypost.kernel.clock import to_text

    return to_text(moment.replace(microsecond=0)) if moment else "-"
