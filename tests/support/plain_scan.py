"""What a snapshot should answer, found without any index: each place is looked at, and tested in plain Python."""

import math
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from hypothesis import strategies as st

from waypost.kernel.folding import words
from waypost.places.place import Address, Attributes, Place, Status
from waypost.serving.reading.query import Query

MORNING = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)
EARTH = 6371008.8

# Edges often, so that boxes end on places, and anything else sometimes.
LONGITUDES = [-180.0, -179.5, -0.0, 0.0, 5e-324, 10.0, 10.000001, 179.5, 180.0]
LATITUDES = [-90.0, -89.5, -85.06, -0.0, 0.0, 5e-324, 50.0, 85.06, 89.5, 90.0]
longitudes = st.sampled_from(LONGITUDES) | st.floats(-180, 180)
latitudes = st.sampled_from(LATITUDES) | st.floats(-90, 90)
boxes = st.tuples(longitudes, latitudes, longitudes, latitudes).map(
    lambda box: (box[0], min(box[1], box[3]), box[2], max(box[1], box[3]))
) | st.tuples(longitudes, latitudes).map(lambda point: (*point, *point))

NAMES = [
    "Łódź Główna",
    "Lodowa 12",
    "Köln Süd",
    "KOLNER DOM",
    "Straße 5",
    "Østerport/Nørre_port",
    "北京站",
    "...",
    "a " * 40,
]
TOWNS = [None, "Köln", "Kolbotn", "Łódź", "São Tomé"]
TEXTS = [
    "lodz",
    "łó",
    "KÖL",
    "kol d",
    "strasse",
    "ost nor",
    "北",
    "5",
    "a",
    "kolner dom",
    "zz",
    "lod glow lodz",
    "x" * 40,
]
COUNTRIES = ["DE", "PL", "FR"]
OPERATORS = ["Łódź Power", "lodz power", "Ionity"]
CATEGORIES = ["charging", "parking", "food"]
STATUSES: list[Status] = ["operational", "planned", "closed"]
POWERS = [0.0, 3.7, 22.1, 50.0, 350.0, 1e39]
MOMENTS = [MORNING + timedelta(days=day, microseconds=day) for day in (-400_000, -1, 0, 1)]


def places_of(count: int, seed: int) -> list[Place]:
    """Chosen by chance and not by Hypothesis, which would make few of them, and slowly."""
    random = Random(seed)
    return [_place_of(random, number) for number in range(count)]


def _place_of(random: Random, number: int) -> Place:
    source = random.choice(["sim", "ocm"])
    return Place(
        external_id=f"{source}:{number}",
        source=source,
        name=random.choice(NAMES),
        lat=random.choice([random.choice(LATITUDES), random.uniform(-90, 90)]),
        lon=random.choice([random.choice(LONGITUDES), random.uniform(-180, 180)]),
        country=random.choice([None, *COUNTRIES]),
        address=Address(town=random.choice(TOWNS)),
        operator=random.choice([None, *OPERATORS]),
        categories=tuple(random.choices(CATEGORIES, k=random.randrange(4))),
        status=random.choice(STATUSES),
        attributes=Attributes(power_kw=random.choice([None, *POWERS])),
        provider_updated_at=random.choice([None, *MOMENTS]),
    )


places_anywhere = st.builds(places_of, st.integers(0, 80), st.integers(0, 2**32))


def _some(values: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.just(()) | st.lists(st.sampled_from([*values, "?"]), min_size=1, max_size=3).map(tuple)


_conditions: dict[str, st.SearchStrategy[Any]] = {
    "box": boxes,
    "text": st.none() | st.sampled_from(TEXTS),
    "country": _some(COUNTRIES),
    "operator": _some(OPERATORS),
    "category": _some(CATEGORIES),
    "status": _some(STATUSES),
    "source": _some(["sim", "ocm"]),
    "power_from": st.none() | st.sampled_from(POWERS),
    "updated_from": st.none() | st.sampled_from(MOMENTS),
    "updated_to": st.none() | st.sampled_from(MOMENTS),
}


def _query_of(draw: st.DrawFn) -> Query:
    """With few conditions, so that something is found; each pair of them comes about, and boxes often."""
    chosen = draw(st.lists(st.sampled_from(["box", "box", *sorted(_conditions)]), max_size=3))
    return Query(**{name: draw(_conditions[name]) for name in dict.fromkeys(chosen)})


queries = st.composite(_query_of)()


def lies_in(place: Place, box: tuple[float, float, float, float]) -> bool:
    west, south, east, north = box
    across = west <= place.lon <= east if west <= east else place.lon >= west or place.lon <= east
    return across and south <= place.lat <= north


def meets(place: Place, query: Query) -> bool:
    """Whether the place meets every condition but `near` and `radius`."""
    moment = place.provider_updated_at
    return (
        (query.box is None or lies_in(place, query.box))
        and (query.text is None or has_words(place, query.text))
        and (not query.country or place.country in query.country)
        and (not query.operator or place.operator in query.operator)
        and (not query.category or any(category in query.category for category in place.categories))
        and (not query.status or place.status in query.status)
        and (not query.source or place.source in query.source)
        and (query.power_from is None or has_power(place, query.power_from))
        and (query.updated_from is None or (moment is not None and moment >= query.updated_from))
        and (query.updated_to is None or (moment is not None and moment <= query.updated_to))
    )


def has_words(place: Place, text: str) -> bool:
    own = [word[:32] for word in words(f"{place.name} {place.address.town or ''}")[:32]]
    return all(any(word.startswith(asked[:32]) for word in own) for asked in words(text))


def has_power(place: Place, least: float) -> bool:
    power = place.attributes.power_kw
    return power is not None and _single(power) >= _single(least)


def _single(number: float) -> float:
    """As a 32-bit float, the precision that snapshots keep."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.inf


def distance(place: Place, near: tuple[float, float]) -> float:
    """By the angle between two vectors: not the formula that the snapshot uses."""
    here, there = _vector(*near), _vector(place.lat, place.lon)
    across = math.hypot(
        here[1] * there[2] - here[2] * there[1],
        here[2] * there[0] - here[0] * there[2],
        here[0] * there[1] - here[1] * there[0],
    )
    return EARTH * math.atan2(across, sum(one * other for one, other in zip(here, there, strict=True)))


def _vector(lat: float, lon: float) -> tuple[float, float, float]:
    along, around = math.radians(lat), math.radians(lon)
    return math.cos(along) * math.cos(around), math.cos(along) * math.sin(around), math.sin(along)
