"""Scopes as people write them on the command line."""

from datetime import datetime

from waypost.importing.geography import Box
from waypost.importing.plan import parse_countries
from waypost.importing.source import BadScope, Scope
from waypost.importing.windows import GRIDS, Grid, floor
from waypost.kernel.clock import from_text, to_text


def read_scope(
    *,
    now: datetime,
    country: str | None = None,
    bbox: str | None = None,
    since: str | None = None,
    until: str | None = None,
    window: str | None = None,
    refresh: bool = False,
    allow_mass_delete: bool = False,
) -> Scope:
    """Returns what was asked for, or raises BadScope. Without `until`, time goes up to the last whole hour."""
    if window is not None and since is None:
        raise BadScope("--window needs --since: it says how that time is cut", parameter="since")
    start = _read_time(since, "since")
    end = _read_time(until, "until")
    scope = Scope(
        countries=parse_countries(country).countries if country is not None else (),
        bbox=Box.parse(bbox) if bbox is not None else None,
        since=start,
        until=_last_whole_hour(start, now) if start and not end else end,
        window=_read_grid(window) if window is not None else GRIDS[-1],
        refresh=refresh,
        allow_mass_delete=allow_mass_delete,
    )
    if scope.until:
        _refuse_unfinished(scope.until, now)
    return scope


def _read_time(text: str | None, name: str) -> datetime | None:
    if text is None:
        return None
    try:
        return from_text(text)
    except (ValueError, OverflowError) as error:
        raise BadScope(
            f"--{name}: {text[:40]!r} is not a time with a UTC offset; write it like 2026-02-21T00:00:00Z",
            parameter=name,
        ) from error


def _read_grid(text: str) -> Grid:
    for grid in GRIDS:
        if text == grid:
            return grid
    raise BadScope(f"--window: {text[:40]!r} is not a window; choose one of {', '.join(GRIDS)}", parameter="window")


def _last_whole_hour(since: datetime, now: datetime) -> datetime:
    until = floor("1h", now)
    if since >= until:
        raise BadScope(
            f"--since: no hour has ended since {to_text(since)}; the last one ended at {to_text(until)}",
            parameter="since",
        )
    return until


def _refuse_unfinished(until: datetime, now: datetime) -> None:
    """A window imported before its end would be done, and what changes in its rest would never be asked for."""
    if until > floor("1h", now):
        raise BadScope(
            f"--until: the hour of {to_text(until)} has not ended yet; use {to_text(floor('1h', now))} at the latest",
            parameter="until",
        )
