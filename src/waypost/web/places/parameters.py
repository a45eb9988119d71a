"""The parameters that routes of places take, and the query that their values ask for."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from waypost.serving.reading.boxes import check_box, parse_box
from waypost.serving.reading.query import FIELDS
from waypost.web.http import parameter_values
from waypost.web.http.parameters import BadParameter, Described, Parameter, Parameters

DEFAULT_LIMIT = 100

_DEGREES = rb"(-?\d{1,3}(?:\.\d{1,15})?)"
_BOX_AND_LIMIT = re.compile(rb"bbox=" + rb",".join([_DEGREES] * 4) + rb"&limit=([1-9]\d{0,8})")


class Listing(Parameters):
    """What a list of places takes. A plain box with a limit, which is what maps ask for, is read in one step."""

    def __init__(self, most: int, more: Iterable[Parameter] = ()) -> None:
        super().__init__(*_FILTERS, limited(most), _CURSOR, GENERATION, *more)
        self._most = most

    def read(self, query: bytes) -> dict[str, Any]:
        matched = _BOX_AND_LIMIT.fullmatch(query)
        if matched is None:
            return super().read(query)
        west, south, east, north, limit = map(float, matched.groups())
        check_box(west, south, east, north)
        return {"bbox": (west, south, east, north), "limit": min(int(limit), self._most)}


def _text(**more: Any) -> Described:
    return {"type": "string", "minLength": 1, "maxLength": parameter_values.LONGEST_VALUE, **more}


FORM = Parameter(
    "f", "json or html, whatever Accept says", _text(enum=["json", "html"]), parameter_values.choice(("json", "html"))
)
GENERATION = Parameter(
    "generation",
    "answer from this generation, so that pages fit together",
    _text(pattern=r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"),
    parameter_values.generation,
)
_CURSOR = Parameter(
    "cursor",
    "where the answer begins; take it from the link `next`, together with `generation`",
    {"type": "integer", "minimum": 0, "maximum": parameter_values.LAST_ROW},
    parameter_values.whole(0, parameter_values.LAST_ROW),
)
BY = Parameter("by", "what to count by", _text(enum=list(FIELDS)), parameter_values.choice(FIELDS), needed=True)

_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2}))?"
_INTERVAL = rf"^({_MOMENT}|{_MOMENT}/({_MOMENT}|\.\.)?|(\.\.)?/{_MOMENT})$"
_FILTERS = (
    Parameter(
        "bbox",
        "west,south,east,north in degrees, edges included; west greater than east crosses the antimeridian",
        {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 6},
        parse_box,
    ),
    Parameter(
        "near",
        "latitude,longitude: the nearest places come first",
        {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        parameter_values.position,
    ),
    Parameter(
        "radius",
        "with near: the largest distance, in metres",
        {"type": "number", "minimum": 0, "maximum": parameter_values.FARTHEST},
        parameter_values.between(0, parameter_values.FARTHEST),
    ),
    Parameter("q", "beginnings of words in name and town, without regard to accents", _text(), parameter_values.search),
    Parameter(
        "datetime",
        "when the provider last changed the place: a time, a day, or an interval such as 2026-02-01T00:00:00Z/..",
        _text(pattern=_INTERVAL),
        parameter_values.interval,
    ),
    Parameter(
        "country",
        "ISO 3166-1 code of the country; repeated, any of them",
        _text(pattern="^[A-Za-z]{2}$"),
        parameter_values.country,
        several=True,
        commas=True,
    ),
    Parameter(
        "operator", "who runs it, as written; repeated, any of them", _text(), parameter_values.text, several=True
    ),
    Parameter("category", "what it is; repeated, any of them", _text(), parameter_values.text, several=True),
    Parameter(
        "status",
        "repeated, any of them",
        _text(enum=list(parameter_values.STATUSES)),
        parameter_values.choice(parameter_values.STATUSES),
        several=True,
        commas=True,
    ),
    Parameter(
        "source", "where it was imported from; repeated, any of them", _text(), parameter_values.text, several=True
    ),
    Parameter(
        "power_from",
        "the least power, in kilowatts",
        {"type": "number", "minimum": 0, "maximum": 1_000_000},
        parameter_values.between(0, 1_000_000),
    ),
)

# By the parameter's name, the field of a query that takes its value as it is.
_AS_FIELD = {"bbox": "box", "q": "text"} | {name: name for name in ("near", "radius", "power_from", *FIELDS)}


def limited(most: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": min(DEFAULT_LIMIT, most)}
    return Parameter(
        "limit", "most places to return; more than the maximum is lowered to it", schema, parameter_values.limit(most)
    )


def counting(most: int) -> Parameters:
    return Parameters(BY, *_FILTERS, limited(most), GENERATION)


def query_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a query that these values ask for."""
    fields = {_AS_FIELD[name]: value for name, value in values.items() if name in _AS_FIELD}
    if "datetime" in values:
        fields["updated_from"], fields["updated_to"] = values["datetime"]
    if "radius" in values and "near" not in values:
        raise BadParameter("radius: it needs near", parameter="radius")
    return fields
