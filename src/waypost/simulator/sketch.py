"""Draws, for many places at once, everything that filters need; rendering adds the words later."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from waypost.simulator.dice import Dice, Floats, Ints
from waypost.simulator.geography import COUNTRIES
from waypost.simulator.manners import MANNERS
from waypost.simulator.plugs import PLUGS
from waypost.simulator.reference import BUSINESS_OWNER, FIRST_OPERATOR, OPERATORS, UNKNOWN_OPERATOR

MOST_PLUGS = 3
NONE = -1
_STATUSES = np.array([50, 0, NONE, 75, 100, 150, 30])
_STATUS_WEIGHTS = (78.0, 6.0, 6.0, 4.0, 2.5, 2.0, 1.5)
_USAGES = np.array([1, 4, 5, 7, 0, NONE, 6, 2])
_USAGE_WEIGHTS = (42.0, 22.0, 12.0, 6.0, 6.0, 6.0, 4.0, 2.0)
_CONTRIBUTORS, _REGISTRY, _ROAMING = 1, 2, 3
_REGISTRY_SHARE = 0.8
_SHARED_SITE_SHARE = 0.06
_LARGEST_LOAD_SHARE, _ALL_LOADS_SHARE = 0.23, 0.45

TOWNS = tuple(town for country in COUNTRIES for town in country.towns)
_COUNTRY_OF = np.array([index for index, country in enumerate(COUNTRIES) for _ in country.towns])
# A country's first town is its largest.
_TOWN_WEIGHTS = np.array(
    [
        country.weight / (rank + 1.5) / sum(1 / (other + 1.5) for other in range(len(country.towns)))
        for country in COUNTRIES
        for rank in range(len(country.towns))
    ]
)
_LATS, _LONS = np.array([town.lat for town in TOWNS]), np.array([town.lon for town in TOWNS])

ALL_PLUGS = tuple(plug for kit in PLUGS.values() for plug in kit)
_KIT_STARTS = np.array([ALL_PLUGS.index(PLUGS[country.plugs][0]) for country in COUNTRIES])
_KIT_SIZES = np.array([len(PLUGS[country.plugs]) for country in COUNTRIES])
_OPERATOR_STARTS = np.array([OPERATORS.index(MANNERS[country.manner].operators[0]) for country in COUNTRIES])
_OPERATOR_COUNTS = np.array([len(MANNERS[country.manner].operators) for country in COUNTRIES])

_FIRST_ID = 20_000
_NULL_ISLAND_EVERY, _NULL_ISLAND_AT = 400, 137
_SHARED_SITES = 6
# Above every position, so that a shared site throws different dice from any place.
_SITES_FROM = 1 << 40
_KM_A_DEGREE = 111.2


def _minutes(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) // 60


_BEGIN, _END = _minutes(2011, 1), _minutes(2026, 3)
_BULK_LOADS = 24


@dataclass(frozen=True)
class Sketch:
    """Rows of many places; ids of reference entries, or -1 for none. Times are minutes, as the provider rounds them."""

    ids: Ints
    towns: Ints
    countries: Ints
    lats: Floats
    lons: Floats
    modified: Ints
    created: Ints
    operators: Ints
    usages: Ints
    statuses: Ints
    providers: Ints
    plug_counts: Ints
    plugs: tuple[Ints, ...]


def sketch(seed: int, positions: Ints) -> Sketch:
    """The places with these numbers. Each depends only on the seed and its own number."""
    dice = Dice(seed, positions)
    towns = dice.choose("town", _TOWN_WEIGHTS)
    countries = _COUNTRY_OF[towns]
    lats, lons = _coordinates(seed, positions, towns, dice)
    modified, bulk = _modified(seed, dice)
    begins = _KIT_STARTS[countries]
    imported = np.where(dice.unit("provider") < _REGISTRY_SHARE, _REGISTRY, _ROAMING)
    return Sketch(
        # Ids have small gaps everywhere and a large one now and then.
        ids=_FIRST_ID + positions * 4 + dice.below("id", 4) + positions // 512 * 300,
        towns=towns,
        countries=countries,
        lats=lats,
        lons=lons,
        modified=modified,
        created=(_BEGIN + (modified - _BEGIN) * dice.unit("created")).astype(np.int64),
        operators=_operators(dice, countries),
        usages=_USAGES[dice.choose("usage", _USAGE_WEIGHTS)],
        statuses=_STATUSES[dice.choose("status", _STATUS_WEIGHTS)],
        providers=np.where(bulk, imported, _CONTRIBUTORS),
        plug_counts=dice.choose("plugs", (2.0, 45.0, 38.0, 15.0)),
        plugs=tuple(begins + dice.below(f"plug{slot}", _KIT_SIZES[countries]) for slot in range(MOST_PLUGS)),
    )


def _coordinates(seed: int, positions: Ints, towns: Ints, dice: Dice) -> tuple[Floats, Floats]:
    """Positions, mostly near the town; some share a site with others, and a few are at (0, 0), as if not filled in."""
    site = _SITES_FROM + towns * _SHARED_SITES + dice.below("site", _SHARED_SITES)
    own = Dice(seed, np.where(dice.unit("shared") < _SHARED_SITE_SHARE, site, positions))
    away = (0.3 + 9.0 * own.unit("away") ** 3) / _KM_A_DEGREE
    angle = own.unit("angle") * 2 * np.pi
    lats = _LATS[towns] + away * np.sin(angle)
    lons = _LONS[towns] + away * np.cos(angle) / np.cos(np.radians(_LATS[towns]))
    nowhere = positions % _NULL_ISLAND_EVERY == _NULL_ISLAND_AT
    return np.where(nowhere, 0.0, lats.round(6)), np.where(nowhere, 0.0, lons.round(6))


def _modified(seed: int, dice: Dice) -> tuple[Ints, NDArray[np.bool_]]:
    """When each place was last updated, and whether by a bulk load: one load touched almost a quarter of all places."""
    loads = _BEGIN + Dice(seed, np.arange(_BULK_LOADS)).below("load", _END - _BEGIN)
    share = dice.unit("bulk")
    load = np.where(share < _LARGEST_LOAD_SHARE, 0, dice.below("load", _BULK_LOADS))
    alone = _END - 1 - ((_END - _BEGIN) * dice.unit("modified") ** 2).astype(np.int64)
    bulk = share < _ALL_LOADS_SHARE
    return np.where(bulk, loads[load], alone), bulk


def _operators(dice: Dice, countries: Ints) -> Ints:
    local = _OPERATOR_STARTS[countries] + dice.below("operator", _OPERATOR_COUNTS[countries])
    kind = dice.choose("operator kind", (14.0, 8.0, 6.0, 72.0))
    return np.choose(kind, [NONE, UNKNOWN_OPERATOR, BUSINESS_OWNER, FIRST_OPERATOR + local])
