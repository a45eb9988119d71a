"""Invented places, clustered like cities: the same for the same count, on any machine, without the network."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from waypost.places.place import Address, Attributes, Connector, Place, Status, place_id_bytes, to_feature
from waypost.simulator.geography import COUNTRIES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SEED = 20_260_221
_CHUNK = 50_000
# Around each town of the table, at a distance as suburbs and small towns have it.
_SUBURBS = 40
_SUBURB_SPREAD, _TOWN_SPREAD, _COUNTRYSIDE_SPREAD = 0.6, 0.02, 1.0
_COUNTRYSIDE_SHARE = 0.1
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
_YEARS_IN_SECONDS = 2 * 365 * 86_400
_STATUSES: tuple[Status, ...] = get_args(Status)
_STATUS_SHARES = (0.85, 0.05, 0.04, 0.03, 0.03)
_POWERS = (3.7, 11.0, 22.0, 50.0, 75.0, 150.0, 300.0, 350.0)
_PLUGS = ("Type 2", "CCS (Type 2)", "CHAdeMO", "NACS")
_OPERATORS = tuple(
    " ".join(parts)
    for parts in product(
        ["Volt", "Ampère", "Nordstrom", "Blitz", "Éclair", "Rayo", "Fulmine", "Lumen"],
        ["Energy", "Charge", "Mobilität", "Drive", "Réseau"],
    )
)
_TREES = "Linden Birken Eichen Fichten Kastanien Pappel Rosen Veilchen Lerchen Möwen Tauben Jäger Reiter"
_SITES = "Bahnhof Markt Kirch Schloss Mühlen Garten Wald Berg Brücken Hafen Garnison Hain Insel Obst Quell Wiesen"
_WAYS = "straße weg platz allee gasse ring ufer damm steig hof feld tor park pfad"
_STREETS = tuple(map("".join, product(f"{_TREES} {_SITES}".split(), _WAYS.split())))


@dataclass(frozen=True)
class Written:
    """What was written to a file: all positions, and every so manieth place whole, to ask for."""

    path: Path
    count: int
    lons: Floats
    lats: Floats
    sample: tuple[Place, ...]


@dataclass(frozen=True)
class _Centres:
    lons: Floats
    lats: Floats
    spreads: Floats
    shares: Floats
    towns: tuple[tuple[str, Address], ...]


def write(path: Path, count: int, *, sample: int) -> Written:
    """As one GeoJSON Feature a line, which is what `waypost snapshot build --from` reads."""
    every = max(1, count // sample)
    lons, lats, sampled = np.empty(count), np.empty(count), []
    with path.open("wb", buffering=1 << 20) as file:
        for number, place in enumerate(places(count)):
            lons[number], lats[number] = place.lon, place.lat
            file.write(to_feature(place, place_id_bytes(place.external_id)) + b"\n")
            if not number % every:
                sampled.append(place)
    return Written(path, count, lons, lats, tuple(sampled))


def places(count: int) -> Iterator[Place]:
    for first, end in pairwise([*range(0, count, _CHUNK), count]):
        yield from _some(first, end - first)


def _some(first: int, count: int) -> Iterator[Place]:
    dice = np.random.default_rng([_SEED, first])
    centres = _centres()
    chosen = dice.choice(len(centres.lons), count, p=centres.shares)
    lons, lats = _positions(dice, centres, chosen)
    columns: list[Any] = [
        chosen,
        lons,
        lats,
        dice.integers(len(_OPERATORS), size=count),
        dice.integers(len(_STREETS), size=count),
        dice.integers(1, 200, size=count),
        dice.choice(len(_STATUSES), count, p=_STATUS_SHARES),
        dice.integers(len(_POWERS), size=count),
        dice.integers(len(_PLUGS), size=count),
        dice.integers(1, 13, size=count),
        dice.integers(_YEARS_IN_SECONDS, size=count),
    ]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, row in enumerate(rows, first):
        yield _place(number, centres, *row)


def _place(
    number: int,
    centres: _Centres,
    centre: int,
    lon: float,
    lat: float,
    operator: int,
    street: int,
    house: int,
    status: int,
    power: int,
    plug: int,
    points: int,
    seconds: int,
) -> Place:
    country, town = centres.towns[centre]
    power_kw = _POWERS[power]
    return Place(
        external_id=f"bench:{number}",
        source="bench",
        name=f"{_OPERATORS[operator]} {_STREETS[street]}",
        lat=lat,
        lon=lon,
        country=country,
        address=Address(f"{_STREETS[street]} {house}", town.town, town.region, f"{10_000 + centre % 90_000}"),
        operator=_OPERATORS[operator],
        categories=("charging",),
        status=_STATUSES[status],
        attributes=Attributes((Connector(_PLUGS[plug], power_kw, points),), power_kw, points),
        provider_updated_at=_EPOCH + timedelta(seconds=seconds),
    )


def _positions(dice: np.random.Generator, centres: _Centres, chosen: Ints) -> tuple[Floats, Floats]:
    """Dense in the middle of a town, thin around it, and some far outside."""
    outside = dice.random(len(chosen)) < _COUNTRYSIDE_SHARE
    spread = np.where(outside, _COUNTRYSIDE_SPREAD, centres.spreads[chosen])
    lats = np.clip(centres.lats[chosen] + dice.normal(size=len(chosen)) * spread, -84.0, 84.0)
    lons = centres.lons[chosen] + dice.normal(size=len(chosen)) * spread / np.cos(np.radians(lats))
    return np.round((lons + 180) % 360 - 180, 6), np.round(lats, 6)


@cache
def _centres() -> _Centres:
    """Each town and its suburbs; the first town of a country is its largest."""
    dice = np.random.default_rng(_SEED)
    towns = [(country, rank, town) for country in COUNTRIES for rank, town in enumerate(country.towns)]
    weights = np.array([country.weight / (rank + 1.5) for country, rank, _ in towns])
    lats = np.repeat([town.lat for _, _, town in towns], _SUBURBS)
    lons = np.repeat([town.lon for _, _, town in towns], _SUBURBS)
    # The town itself is the first of its suburbs, the largest, and stays where it is.
    ranks = np.tile(np.arange(_SUBURBS), len(towns))
    away = np.where(ranks, _SUBURB_SPREAD, 0.0)
    shares = np.repeat(weights, _SUBURBS) / (ranks + 2)
    return _Centres(
        lons + dice.normal(size=len(lons)) * away,
        lats + dice.normal(size=len(lats)) * away,
        _TOWN_SPREAD * (1 + 4 / (ranks + 1)),
        shares / shares.sum(),
        tuple(
            (country.code, Address(town=town.name, region=town.region or None))
            for country, _, town in towns
            for _ in range(_SUBURBS)
        ),
    )
