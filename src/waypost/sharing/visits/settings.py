"""The settings for visits."""

from dataclasses import dataclass
from datetime import timedelta

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_duration, parse_size, parse_switch

_SHORTEST = timedelta(days=1)


def _read_retention(text: str) -> timedelta | None:
    """Refuses less than a day: a visit shipped again after its event was dropped would count twice."""
    if not text.strip():
        return None
    kept = timedelta(seconds=parse_duration(text))
    if kept < _SHORTEST:
        raise ValueError(f"{text[:40]!r} is shorter than a day; write it like 400d, or leave it empty")
    return kept


@dataclass(frozen=True)
class VisitsSettings:
    spool_max: int = setting(
        "visits.spool_max", "64m", parse=parse_size, explain="most that the local spool of visits may hold"
    )
    fsync: bool = setting(
        "visits.fsync",
        "off",
        parse=parse_switch,
        explain="on: a visit survives a power cut too, and redirects wait for the disk",
    )
    retention: timedelta | None = setting(
        "visits.retention",
        "",
        parse=_read_retention,
        explain="how long single visits are kept; counts stay; for ever when empty",
    )
    countries: str = setting(
        "visits.countries",
        "",
        explain="file in MaxMind's format that says in which country an address is; none when empty",
    )
