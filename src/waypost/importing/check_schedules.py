"""Checks schedules before a scheduler begins, so that a source it cannot use is reported at the start, not at night."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from waypost.importing.schedules import ImportSchedule
from waypost.importing.source import OpenSource
from waypost.importing.start import remember_provider
from waypost.kernel.errors import AskedWrongly
from waypost.scaling.fact_store import Facts
from waypost.scaling.schedules.schedule import Schedule

EXAMPLE = 'schedule.hourly = { what = "windows", country = "DE,FR", every = "1h" }'
_SOME_DAY = datetime(2026, 2, 21, tzinfo=UTC)


class NoSchedules(AskedWrongly):
    """There is nothing to schedule."""


class Unschedulable(AskedWrongly):
    """The source has to look at what there is before it can plan, as with files."""


def refuse_without_schedules(schedules: Mapping[str, Schedule]) -> None:
    if not schedules:
        raise NoSchedules("no schedules are configured", next_step=f"add one to waypost.toml, such as: {EXAMPLE}")


async def check_schedules(schedules: Mapping[str, Schedule], open_source: OpenSource, facts: Facts) -> None:
    """Asks each scheduled source to plan once, and remembers its provider."""
    begin, over = _SOME_DAY, _SOME_DAY + timedelta(hours=1)
    for schedule in schedules.values():
        if isinstance(schedule, ImportSchedule):
            async with open_source(schedule.source) as source:
                if source.plan(schedule.asks(begin, over), over.date()) != schedule.keys(begin, over):
                    raise Unschedulable(
                        f"the source {source.name} has shards of its own, which a schedule cannot name",
                        next_step=f"run it by cron or a timer: waypost import run --source {source.name}",
                    )
                await remember_provider(facts, source)
