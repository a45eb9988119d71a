"""Which field of a provider's record says what about a place: the `[fields]` table of a source.

Each name leads to a field by its path, such as `properties.name` or `addresses.0.country`. Instead of a path there may
be `{ path = "…", values = { open = "operational" } }`, which exchanges values, or `{ value = "DE" }`, where all records
have the same. Whatever is wrong with a table or a record is a ValueError that says what.
"""
# ruff: noqa: TRY004 - a wrong type is one of many things that can be wrong with somebody else's data

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from waypost.adapters.sources.values import (
    STATUSES,
    country_of,
    kind_of,
    moment_of,
    number_of,
    status_of,
    text_of,
    texts_of,
    wrong_format,
)
from waypost.kernel.suggesting import did_you_mean
from waypost.places.place import Address, Attributes, Connector, Extra, Place

Record = Mapping[str, Any]
Point = tuple[float, float]

_POSITION = {"lat", "lon", "coordinates"}
PLAIN = {
    *_POSITION,
    *(
        "id",
        "name",
        "country",
        "street",
        "town",
        "region",
        "postcode",
        "operator",
        "categories",
        "status",
        "updated_at",
    ),
}
_ATTRIBUTES = ("power_kw", "points", "connectors")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_]{0,59}")
_TIMES = ("updated_at",)
_LONGEST_ID = 500


@dataclass(frozen=True, slots=True)
class Field:
    """Where a value is in a record, what replaces some of its values, or one value for all records."""

    name: str
    path: str = ""
    steps: tuple[str, ...] = ()
    values: Mapping[str, Any] | None = None
    value: Any = None
    # How a time is written, where it is neither ISO 8601 nor a number.
    format: str | None = None

    @classmethod
    def parse(cls, name: str, given: Any) -> "Field":
        if isinstance(given, str) and given:
            return cls(name, given, tuple(given.split(".")))
        if isinstance(given, list) and name == "categories":
            return cls(name, value=given)
        if not isinstance(given, Mapping):
            raise ValueError(f'fields.{name} should be a path such as "properties.name", not {given!r}')
        _refuse_unknown(f"fields.{name}", given, ("path", "values", "value", *(["format"] if name in _TIMES else [])))
        if ("path" in given) == ("value" in given):
            raise ValueError(f"fields.{name} needs either a path or a value")
        values = given.get("values")
        if values is not None and ("value" in given or not isinstance(values, Mapping)):
            raise ValueError(
                f'fields.{name}.values should be a table beside a path, such as {{ open = "operational" }}'
            )
        if "value" in given:
            return cls(name, value=given["value"])
        plain = cls.parse(name, given["path"])
        return cls(name, plain.path, plain.steps, values, format=_format(name, given.get("format")))

    def of(self, record: Record) -> Any:
        if not self.steps:
            return self.value
        found = record[self.path] if self.path in record else self._follow(record)
        if self.values is None or found is None:
            return found
        if isinstance(found, list):
            return [self._exchange(each) for each in found]
        return self._exchange(found)

    def _follow(self, found: Any) -> Any:
        for step in self.steps:
            if isinstance(found, dict):  # not Mapping, which takes ten times as long to ask for
                found = found.get(step)
            elif isinstance(found, list) and step.isdecimal():
                found = found[int(step)] if int(step) < len(found) else None
            else:
                return None
        return found

    def _exchange(self, found: Any) -> Any:
        text = str(found).lower() if isinstance(found, bool) else str(found)
        return (self.values or {}).get(text, found)


_NOTHING = Field("")


def _format(name: str, given: Any) -> str | None:
    if given is not None and (not isinstance(given, str) or "%" not in given):
        raise ValueError(f'fields.{name}.format should be like "%d.%m.%Y %H:%M"; ISO 8601 and numbers need none')
    if given is not None and (wrong := wrong_format(given)):
        raise ValueError(f"fields.{name}.format: {wrong}")
    return given


class FieldMap:
    """Makes places from records. `to_point` reads what `coordinates` leads to: longitude and latitude, by default."""

    def __init__(self, fields: Mapping[str, Field], *, to_point: Callable[[Any], Point]) -> None:
        self._fields = fields
        self._to_point = to_point
        known = {f"attributes.{name}" for name in _ATTRIBUTES}
        self._extras = {
            name.removeprefix("attributes."): name
            for name in fields
            if name.startswith("attributes.") and name not in known and not name.startswith("attributes.connectors.")
        }
        self._has_attributes = any(name.startswith("attributes.") for name in fields)

    @classmethod
    def parse(
        cls, table: Mapping[str, Any], defaults: Mapping[str, str], *, to_point: Callable[[Any], Point] | None = None
    ) -> "FieldMap":
        """Raises ValueError, with the name of what is wrong. A default for the position yields to any other one."""
        _refuse_unknown("fields", table, (*PLAIN, "attributes"))
        given = dict(table)
        if given.keys() & _POSITION:
            defaults = {name: path for name, path in defaults.items() if name not in _POSITION}
        attributes = given.pop("attributes", {})
        fields = {name: Field.parse(name, value) for name, value in {**defaults, **given}.items()}
        _check(fields)
        return cls(fields | _attributes(attributes), to_point=to_point or as_point)

    @property
    def needed(self) -> tuple[str, ...]:
        """The paths without which no record is a place."""
        needed = (self._fields.get(name) for name in ("id", "lat", "lon", "coordinates"))
        return tuple(field.path for field in needed if field and field.path)

    def external_id(self, record: Record, source: str) -> str:
        """Raises ValueError for a record that has none: it could not be found again."""
        field = self._fields["id"]
        text = text_of(field.of(record), "id")
        if text is None:
            raise ValueError(f"it has no id: there is nothing in its field {field.path}")
        if len(text) > _LONGEST_ID or not text.isprintable():
            raise ValueError(f"its id {text[:40]!r} is too long, or has characters that cannot be shown")
        return f"{source}:{text}"

    def to_place(self, record: Record, source: str) -> Place:
        """Raises ValueError, with the reason, for a record that cannot be a place."""
        external_id = self.external_id(record, source)
        lon, lat = self._position(record)
        return Place(
            external_id=external_id,
            source=source,
            name=self._text("name", record) or self._text("town", record) or external_id,
            lat=lat,
            lon=lon,
            country=country_of(self._text("country", record)),
            address=Address(
                self._text("street", record),
                self._text("town", record),
                self._text("region", record),
                self._text("postcode", record),
            ),
            operator=self._text("operator", record),
            categories=texts_of(self._value("categories", record), "categories"),
            status=status_of(self._value("status", record)),
            attributes=self._attributes(record) if self._has_attributes else Attributes(),
            provider_updated_at=self.updated_at(record),
        )

    def updated_at(self, record: Record) -> datetime | None:
        """Raises ValueError for what is not a time."""
        field = self._fields.get("updated_at", _NOTHING)
        return moment_of(field.of(record), field.format)

    @property
    def has_times(self) -> bool:
        return "updated_at" in self._fields

    def _value(self, name: str, record: Record) -> Any:
        field = self._fields.get(name)
        return field.of(record) if field else None

    def _text(self, name: str, record: Record) -> str | None:
        field = self._fields.get(name)
        return text_of(field.of(record), name) if field else None

    def _position(self, record: Record) -> Point:
        if "coordinates" in self._fields:
            lon, lat = self._to_point(self._value("coordinates", record))
        else:
            lon, lat = self._degrees("lon", record), self._degrees("lat", record)
        if not abs(lat) <= 90:  # noqa: PLR2004 - a pole; written so that NaN does not pass
            raise ValueError(f"latitude {lat} is not on Earth")
        if not abs(lon) <= 180:  # noqa: PLR2004 - the antimeridian
            raise ValueError(f"longitude {lon} is not on Earth")
        return lon, lat

    def _degrees(self, name: str, record: Record) -> float:
        found = number_of(self._value(name, record), name)
        if found is None:
            raise ValueError(f"it has no {name}: there is nothing in its field {self._fields[name].path}")
        return found

    def _attributes(self, record: Record) -> Attributes:
        found = self._value("attributes.connectors.path", record) or []
        if not isinstance(found, list) or not all(isinstance(each, Mapping) for each in found):
            raise ValueError("connectors should be a list of objects")
        connectors = tuple(self._connector(each) for each in found)
        power = number_of(self._value("attributes.power_kw", record), "power_kw")
        if power is None:
            power = max((each.power_kw for each in connectors if each.power_kw is not None), default=None)
        points = number_of(self._value("attributes.points", record), "points")
        return Attributes(connectors, power, None if points is None else int(points), self._extra(record))

    def _extra(self, record: Record) -> dict[str, Extra]:
        """Attributes that only this source has; what a record lacks is left out."""
        found = {name: self._value(field, record) for name, field in self._extras.items()}
        for name, value in found.items():
            if not isinstance(value, str | int | float | bool | None):
                raise ValueError(
                    f"attributes.{name} is {kind_of(value)}; an attribute is a text, a number, true or false"
                )
        return {name: value for name, value in found.items() if value is not None}

    def _connector(self, found: Record) -> Connector:
        count = number_of(self._value("attributes.connectors.count", found), "count")
        return Connector(
            self._text("attributes.connectors.type", found) or "unknown",
            number_of(self._value("attributes.connectors.power_kw", found), "power_kw"),
            int(count or 1),
        )


def _attributes(given: Any) -> dict[str, Field]:
    """Joins the names of attributes, so that one dictionary has every field."""
    if not isinstance(given, Mapping):
        raise ValueError("fields.attributes should be a table")
    for name in given:
        if not _ATTRIBUTE.fullmatch(name):
            raise ValueError(f"fields.attributes: {name[:40]!r} is not a name; it has lower-case letters, digits and _")
    names = {f"attributes.{name}": value for name, value in given.items() if name != "connectors"}
    connectors = given.get("connectors")
    if connectors is not None:
        if not isinstance(connectors, Mapping) or "path" not in connectors:
            raise ValueError('fields.attributes.connectors should be a table with the path of a list: { path = "…" }')
        _refuse_unknown("fields.attributes.connectors", connectors, ("path", "type", "power_kw", "count"))
        names |= {f"attributes.connectors.{name}": value for name, value in connectors.items()}
    return {name: Field.parse(name, value) for name, value in names.items()}


def _check(fields: Mapping[str, Field]) -> None:
    if "id" not in fields:
        raise ValueError("fields.id is missing: without an id a record could not be found again")
    if ("lat" in fields) != ("lon" in fields) or ("lat" in fields) == ("coordinates" in fields):
        raise ValueError("fields needs either lat and lon, or coordinates")
    status = fields.get("status", _NOTHING)
    for value in (*(status.values or {}).values(), *([status.value] if status.value is not None else [])):
        if value not in STATUSES:
            known = ", ".join(sorted(STATUSES))
            raise ValueError(f"fields.status: {value!r} is none of {known}.{did_you_mean(str(value), STATUSES)}")


def _refuse_unknown(where: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in given:
        if name not in names:
            raise ValueError(f"{where} has no {name}; it may have {', '.join(names)}.{did_you_mean(name, names)}")


def as_point(found: Any) -> Point:
    """Reads a point from `[longitude, latitude]`, as GeoJSON has it."""
    if not isinstance(found, list | tuple) or len(found) < 2:  # noqa: PLR2004 - two numbers, and perhaps a height
        raise ValueError("it has no position")
    lon, lat = number_of(found[0], "longitude"), number_of(found[1], "latitude")
    if lon is None or lat is None:
        raise ValueError("it has no position")
    return lon, lat
