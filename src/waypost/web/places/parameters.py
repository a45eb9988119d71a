"""The parameters of places: one table, by which requests are read and from which the API is described."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.serving.reading.boxes import check_box, parse_box
from waypost.serving.reading.query import FIELDS
from waypost.web.http import value_readers

MOST_VALUES = 50
DEFAULT_LIMIT = 100

Described = dict[str, Any]


class BadParameter(AskedWrongly):
    """A parameter is missing, unknown or out of range."""

    slug = "bad-parameter"


@dataclass(frozen=True)
class Parameter:
    """`several`: it may be repeated. `commas`: its values contain no commas, so that commas may separate them."""

    name: str
    explain: str
    schema: Described
    read: Callable[[str], Any]
    several: bool = False
    commas: bool = False
    needed: bool = False

    def described(self) -> Described:
        schema = {"type": "array", "items": self.schema, "minItems": 1, "maxItems": MOST_VALUES}
        found = {"name": self.name, "in": "query", "required": self.needed, "description": self.explain}
        return found | {"schema": schema if self.several else self.schema, "style": "form", "explode": self.several}


class Parameters:
    """What one route takes; everything else is refused, as OGC API Features asks for."""

    def __init__(self, *taken: Parameter) -> None:
        self._taken = {each.name: each for each in taken}
        self._needed = [each.name for each in taken if each.needed]

    def described(self) -> list[Described]:
        return [each.described() for each in self._taken.values()]

    def read(self, query: bytes) -> dict[str, Any]:
        """Values by name; those of a parameter that may be repeated are a tuple."""
        found: dict[str, Any] = {}
        if query:
            for part in _decode(query).split("&"):
                if part:
                    self._take(part, found)
        for name in self._needed:
            if name not in found:
                raise BadParameter(f"{name}: it is needed here", parameter=name)
        return found

    def _take(self, part: str, found: dict[str, Any]) -> None:
        name, _, text = part.partition("=")
        parameter = self._taken.get(name) or self._written_otherwise(name)
        name = parameter.name
        if "%" in text or "+" in text:
            text = _unquote(text, name)
        if len(text) > value_readers.LONGEST_VALUE:
            raise BadParameter(f"{name}: it has more than {value_readers.LONGEST_VALUE} characters", parameter=name)
        try:
            if parameter.several:
                self._add(parameter, text, found)
            elif name in found:
                raise ValueError("it is given twice")  # noqa: TRY301 - told like any other mistake
            else:
                found[name] = parameter.read(text)
        except ValueError as error:
            raise BadParameter(f"{name}: {error}", parameter=name) from None

    def _add(self, parameter: Parameter, text: str, found: dict[str, Any]) -> None:
        texts = text.split(",") if parameter.commas else [text]
        values = (*found.get(parameter.name, ()), *map(parameter.read, texts))
        if len(values) > MOST_VALUES:
            raise ValueError(f"there are more than {MOST_VALUES} values")
        found[parameter.name] = values

    def _written_otherwise(self, name: str) -> Parameter:
        plain = _unquote(name, name) if "%" in name or "+" in name else name
        if plain in self._taken:
            return self._taken[plain]
        known = ", ".join(self._taken) or "none"
        raise BadParameter(
            f"there is no parameter {plain[:40]!r} here.{did_you_mean(plain[:40], self._taken)} Known: {known}",
            parameter=plain[:40],
        )


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


def _decode(query: bytes) -> str:
    try:
        return query.decode()
    except UnicodeDecodeError:
        raise BadParameter("the address is not UTF-8") from None


def _unquote(text: str, name: str) -> str:
    try:
        return unquote_plus(text, errors="strict")
    except UnicodeDecodeError:
        raise BadParameter(f"{name[:40]}: its value is not UTF-8", parameter=name[:40]) from None


def _text(**more: Any) -> Described:
    return {"type": "string", "minLength": 1, "maxLength": value_readers.LONGEST_VALUE, **more}


FORM = Parameter(
    "f", "json or html, whatever Accept says", _text(enum=["json", "html"]), value_readers.choice(("json", "html"))
)
GENERATION = Parameter(
    "generation",
    "answer from this generation, so that pages fit together",
    _text(pattern=r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$"),
    value_readers.generation,
)
_CURSOR = Parameter(
    "cursor",
    "where the answer begins; take it from the link `next`, together with `generation`",
    {"type": "integer", "minimum": 0, "maximum": value_readers.LAST_ROW},
    value_readers.whole(0, value_readers.LAST_ROW),
)
BY = Parameter("by", "what to count by", _text(enum=list(FIELDS)), value_readers.choice(FIELDS), needed=True)

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
        value_readers.position,
    ),
    Parameter(
        "radius",
        "with near: the largest distance, in metres",
        {"type": "number", "minimum": 0, "maximum": value_readers.FARTHEST},
        value_readers.between(0, value_readers.FARTHEST),
    ),
    Parameter("q", "beginnings of words in name and town, without regard to accents", _text(), value_readers.search),
    Parameter(
        "datetime",
        "when the provider last changed the place: a time, a day, or an interval such as 2026-02-01T00:00:00Z/..",
        _text(pattern=_INTERVAL),
        value_readers.interval,
    ),
    Parameter(
        "country",
        "ISO 3166-1 code of the country; repeated, any of them",
        _text(pattern="^[A-Za-z]{2}$"),
        value_readers.country,
        several=True,
        commas=True,
    ),
    Parameter("operator", "who runs it, as written; repeated, any of them", _text(), value_readers.text, several=True),
    Parameter("category", "what it is; repeated, any of them", _text(), value_readers.text, several=True),
    Parameter(
        "status",
        "repeated, any of them",
        _text(enum=list(value_readers.STATUSES)),
        value_readers.choice(value_readers.STATUSES),
        several=True,
        commas=True,
    ),
    Parameter("source", "where it was imported from; repeated, any of them", _text(), value_readers.text, several=True),
    Parameter(
        "power_from",
        "the least power, in kilowatts",
        {"type": "number", "minimum": 0, "maximum": 1_000_000},
        value_readers.between(0, 1_000_000),
    ),
)

# By the parameter's name, the field of a query that takes its value as it is.
_AS_FIELD = {"bbox": "box", "q": "text"} | {name: name for name in ("near", "radius", "power_from", *FIELDS)}


def limited(most: int) -> Parameter:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": min(DEFAULT_LIMIT, most)}
    return Parameter(
        "limit", "most places to return; more than the maximum is lowered to it", schema, value_readers.limit(most)
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
