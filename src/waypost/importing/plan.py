"""From a scope to the keys of its shards, checked before the provider is asked."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from itertools import islice

import msgspec

from waypost.importing import geography, windows
from waypost.importing.imports import Import
from waypost.importing.source import BadScope, PlanAxis, Scope, Source
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.places.countries import NAMES
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.limits import Limit

# A plan is held in memory and enqueued at once.
MOST_SHARDS = 100_000
# Stands for the import's id in the keys of a refresh that is only shown.
IMPORT_ID = "IMPORT-ID"

_FLAGS: dict[PlanAxis, str] = {"country": "--country", "box": "--bbox", "window": "--since"}


class UnknownCountry(AskedWrongly):
    """A code is not in ISO 3166-1. Open Charge Map would ignore it and send the whole world."""


class UnsupportedScope(AskedWrongly):
    """The source cannot plan along what was asked for."""


class Plan(msgspec.Struct, frozen=True):
    """What an import would do at least: how many requests, and how long they take within the budget."""

    source: str
    shards: tuple[str, ...]
    count: int
    requests: int
    seconds: float


class PlannedImport(msgspec.Struct, frozen=True):
    """An import that can be started: what will be remembered of it, and the keys of its shards."""

    started: Import
    shards: Sequence[ShardKey]

    @property
    def id(self) -> str:
        return self.started.id


def plan_import(source: Source, scope: Scope, *, import_id: str, now: datetime) -> PlannedImport:
    """Asks no provider. The plan's day is that of the import's record, so that it can be planned again."""
    shards = source.plan(scope, now.date(), import_id)
    return PlannedImport(Import(import_id, source.name, scope, "running", now), shards)


def describe(source: str, shards: Sequence[ShardKey], limits: Sequence[Limit]) -> Plan:
    """One request checks the key, and each shard takes at least one: the empty answer that proves its end."""
    requests = len(shards) + 1
    seconds = max(((requests - limit.burst) * limit.interval for limit in limits), default=0.0)
    return Plan(source, tuple(map(str, shards)), len(shards), requests, round(max(seconds, 0.0), 1))


def limits_of(source: Source, limits: Mapping[str, Sequence[Limit]]) -> Sequence[Limit]:
    """Returns the limits that an import from this source keeps; none for a source that asks no provider."""
    return limits[source.name] if source.budget_key else ()


def shards_of(
    scope: Scope, day: date, import_id: str | None, *, source: str, plans: AbstractSet[PlanAxis]
) -> list[ShardKey]:
    """Returns a key for each area and period, ordered by geography first, then by time."""
    _refuse_unsupported(scope, source=source, plans=plans)
    periods = periods_of(scope, day, import_id)
    keys = (ShardKey(source, (*area, period)) for area in _areas(scope) for period in periods)
    shards = list(islice(keys, MOST_SHARDS + 1))
    if len(shards) > MOST_SHARDS:
        raise BadScope(
            f"the plan has more than {MOST_SHARDS} shards; ask for less time or a larger --window", parameter="window"
        )
    return shards


def _refuse_unsupported(scope: Scope, *, source: str, plans: AbstractSet[PlanAxis]) -> None:
    wanted: dict[PlanAxis, bool] = {
        "country": bool(scope.countries),
        "box": scope.bbox is not None,
        "window": scope.since is not None,
    }
    areas = " or ".join(_FLAGS[name] for name in sorted(plans & _FLAGS.keys()) if name != "window")
    if not scope.countries and not scope.bbox and "all" not in plans:
        example = "--country DE,FR" if "country" in plans else "--bbox W,S,E,N"
        raise BadScope(f"say what to import: {example}", parameter="country")
    for axis, is_wanted in wanted.items():
        if is_wanted and axis not in plans:
            leave_out = axis == "window" or not areas
            advice = f"leave {_FLAGS[axis]} out" if leave_out else f"use {areas} instead of {_FLAGS[axis]}"
            raise UnsupportedScope(
                f"the source {source} cannot import by {axis}; {advice}", parameter=_FLAGS[axis].removeprefix("--")
            )


def _areas(scope: Scope) -> list[tuple[tuple[str, str], ...]]:
    if scope.bbox:
        return [(("box", str(cell)),) for cell in geography.cover(scope.bbox)]
    return [(("country", code),) for code in scope.countries] or [()]


def periods_of(scope: Scope, day: date, import_id: str | None) -> list[tuple[str, str]]:
    """The last part of the keys: windows, the import that a refresh belongs to, or the day of a full import."""
    if scope.since and scope.until:
        covering = windows.cover(scope.since, scope.until, scope.window)
        return [("window", str(window)) for window in islice(covering, MOST_SHARDS + 1)]
    if scope.refresh:
        if import_id is None:
            raise ValueError("a refresh belongs to an import")
        return [("refresh", import_id)]
    return [("full", day.isoformat())]


def parse_countries(text: str) -> Scope:
    """A scope from `DE,FR,NL`: upper case or lower, each once, in the order given."""
    codes = dict.fromkeys(part.strip().upper() for part in text.split(",") if part.strip())
    if not codes:
        raise UnknownCountry("no country was named; write codes like DE,FR,NL", parameter="country")
    for code in codes:
        if code not in NAMES:
            raise UnknownCountry(
                f"{code[:40]!r} is not a country code (ISO 3166-1 alpha-2, such as DE).{_suggest(code)}",
                parameter="country",
            )
    return Scope(tuple(codes))


def _suggest(text: str) -> str:
    """People write UK, or a country's name, where a code is wanted."""
    if text == "UK":
        return " Did you mean GB?"
    by_name = {name.upper(): code for code, name in NAMES.items()}
    near = did_you_mean(text, by_name)
    name = near.removeprefix(" Did you mean ").removesuffix("?")
    return f" Did you mean {by_name[name]}?" if near else ""
