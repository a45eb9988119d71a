"""What is configured to be scheduled, how far it is, and whether it is paused."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from waypost.bootstrap.databases import NoStore
from waypost.bootstrap.stores import open_stores
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.scaling.facts import Facts
from waypost.scaling.schedules import Coverage, Schedule, next_due
from waypost.settings import Settings

EXAMPLE = 'schedule.hourly = { what = "windows", country = "DE,FR", every = "1h" }'


class UnknownSchedule(AskedWrongly):
    """No schedule of that name is configured."""

    slug = "unknown-schedule"


class NoSchedules(AskedWrongly):
    """There is nothing to schedule."""

    slug = "no-schedules"


class Entry(msgspec.Struct, frozen=True):
    """What the store remembers of a schedule, as it is written and as it is meant."""

    text: str | None
    coverage: Coverage


class Book:
    """Where schedules stand, a fact each. Several processes write in it, so a change names what it has seen."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def read(self, name: str) -> Entry:
        text = await self._facts.get(_fact(name))
        return Entry(text, msgspec.json.decode(text, type=Coverage) if text else Coverage())

    async def change(self, name: str, seen: Entry, coverage: Coverage) -> bool:
        return await self._facts.replace(_fact(name), seen.text, msgspec.json.encode(coverage).decode())


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is listed."""

    name: str
    what: str
    scope: str | None
    every: str
    next_due: datetime | None
    covered_until: datetime | None
    paused: bool


def configured(settings: Settings) -> Mapping[str, Schedule]:
    if not settings.schedules:
        raise NoSchedules("no schedules are configured", next_step=f"add one to waypost.toml, such as: {EXAMPLE}")
    return settings.schedules


async def look_up(settings: Settings) -> list[View]:
    """Every schedule that is configured, whether or not there is a store yet."""
    try:
        async with open_stores(settings, must_exist=True) as stores:
            book = Book(stores.facts)
            entries = {name: await book.read(name) for name in settings.schedules}
            now = await stores.pages.now()
    except NoStore:
        entries, now = {}, utc_now()
    return [
        _view(settings, name, entries[name].coverage if name in entries else Coverage(), now)
        for name in settings.schedules
    ]


async def set_paused(settings: Settings, name: str, *, paused: bool) -> View:
    if name not in configured(settings):
        raise UnknownSchedule(
            f"there is no schedule {name[:40]!r}.{did_you_mean(name, settings.schedules)}",
            next_step="waypost scheduler list",
        )
    async with open_stores(settings) as stores:
        book = Book(stores.facts)
        while True:
            entry = await book.read(name)
            coverage = msgspec.structs.replace(entry.coverage, paused=paused)
            if coverage == entry.coverage or await book.change(name, entry, coverage):
                return _view(settings, name, coverage, await stores.pages.now())


def _view(settings: Settings, name: str, coverage: Coverage, now: datetime) -> View:
    schedule = settings.schedules[name]
    return View(
        name=name,
        what=schedule.what,
        scope=schedule.scope,
        every=settings.found[f"schedule.{name}.every"].raw,
        next_due=next_due(schedule, now, coverage),
        covered_until=coverage.covered_until,
        paused=coverage.paused,
    )


def _fact(name: str) -> str:
    return f"schedule:{name}"
