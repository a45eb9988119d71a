"""What a request asks for. As with the real provider, a value that cannot be read is ignored, never refused."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from waypost.simulator.columns import microseconds

DEFAULT_LIMIT = 100
# The provider documents no ceiling; this one bounds what a single answer costs.
LARGEST_LIMIT = 10_000
_KM_A_MILE = 1.609344
_LARGEST_INT = 2**63 - 1
_NUMBER = r"\s*([-+]?[\d.]+)\s*"
_BOX = re.compile(rf"\s*\({_NUMBER},{_NUMBER}\)\s*,\s*\({_NUMBER},{_NUMBER}\)\s*")

Order = Literal["id", "modified", "created", "distance", "arbitrary", "newest"]
Output = Literal["json", "geojson", "csv"]
_SORTS: dict[str, Order] = {"id_asc": "id", "modified_asc": "modified", "created_asc": "created"}
_OUTPUTS: dict[str, Output] = {"geojson": "geojson", "csv": "csv"}


class Form(NamedTuple):
    """How much of a record is shown: whether without objects beside their ids, and whether with null fields."""

    compact: bool
    verbose: bool


WHOLE = Form(compact=False, verbose=True)


@dataclass(frozen=True)
class QueryBox:
    south: float
    west: float
    north: float
    east: float


@dataclass(frozen=True)
class Near:
    lat: float
    lon: float
    kilometres: float
    miles: bool


@dataclass(frozen=True)
class ProviderQuery:
    limit: int
    order: Order
    above_id: int | None
    modified_since: int | None
    created_since: int | None
    countries: frozenset[str]
    box: QueryBox | None
    near: Near | None
    operators: frozenset[int]
    plug_kinds: frozenset[int]
    plug_levels: frozenset[int]
    usages: frozenset[int]
    statuses: frozenset[int]
    providers: frozenset[int]
    open_data: bool
    form: Form
    camel_case: bool
    output: Output


class QueryParameters:
    """A query string whose names may be written in any case; a name given twice has both values."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in pairs:
            known = self._values.get(name.lower())
            self._values[name.lower()] = value if known is None else f"{known},{value}"

    def text(self, name: str) -> str:
        return self._values.get(name, "").strip()

    def whole(self, name: str) -> int | None:
        return _whole(self.text(name))

    def number(self, name: str, bound: float) -> float | None:
        return _number(self.text(name), bound)

    def flag(self, name: str, *, default: bool) -> bool:
        return {"true": True, "false": False}.get(self.text(name).lower(), default)

    def words(self, name: str) -> frozenset[str]:
        return frozenset(word.strip().upper() for word in self.text(name).split(",") if word.strip())

    def ids(self, name: str) -> frozenset[int]:
        return frozenset(number for word in self.words(name) if (number := _whole(word)) is not None)


def read_query(pairs: Iterable[tuple[str, str]]) -> ProviderQuery:
    """The query in these parameters; `offset` and others that the provider does not know do nothing."""
    given = QueryParameters(pairs)
    box, near = _box(given.text("boundingbox")), _near(given)
    limit = given.whole("maxresults")
    return ProviderQuery(
        limit=min(limit, LARGEST_LIMIT) if limit is not None and limit > 0 else DEFAULT_LIMIT,
        order=_SORTS.get(given.text("sortby").lower()) or _unsorted(box, near),
        above_id=given.whole("greaterthanid"),
        modified_since=microseconds(given.text("modifiedsince")),
        created_since=microseconds(given.text("createdsince")),
        countries=given.words("countrycode"),
        box=box,
        near=near,
        operators=given.ids("operatorid"),
        plug_kinds=given.ids("connectiontypeid"),
        plug_levels=given.ids("levelid"),
        usages=given.ids("usagetypeid"),
        statuses=given.ids("statustypeid"),
        providers=given.ids("dataproviderid"),
        open_data=given.flag("opendata", default=False),
        form=Form(compact=given.flag("compact", default=False), verbose=given.flag("verbose", default=True)),
        camel_case=given.flag("camelcase", default=False),
        output=_OUTPUTS.get(given.text("output").lower(), "json"),
    )


def _unsorted(box: QueryBox | None, near: Near | None) -> Order:
    if near:
        return "distance"
    return "arbitrary" if box else "newest"


def _box(text: str) -> QueryBox | None:
    """A box from two opposite corners, in any order."""
    match = _BOX.fullmatch(text)
    if not match:
        return None
    lat, lon, other_lat, other_lon = (
        _number(number, bound) for number, bound in zip(match.groups(), (90, 180, 90, 180), strict=True)
    )
    if lat is None or lon is None or other_lat is None or other_lon is None:
        return None
    return QueryBox(min(lat, other_lat), min(lon, other_lon), max(lat, other_lat), max(lon, other_lon))


def _near(given: QueryParameters) -> Near | None:
    """A point needs both numbers; without a distance everything is near, and the nearest comes first."""
    lat, lon = given.number("latitude", 90), given.number("longitude", 180)
    if lat is None or lon is None:
        return None
    miles = given.text("distanceunit").lower() != "km"
    distance = given.number("distance", math.inf)
    if distance is None:
        return Near(lat, lon, math.inf, miles)
    return Near(lat, lon, distance * (_KM_A_MILE if miles else 1.0), miles)


def _whole(text: str) -> int | None:
    try:
        return max(-_LARGEST_INT, min(int(text), _LARGEST_INT))
    except ValueError:
        return None


def _number(text: str, bound: float) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) <= bound else None
