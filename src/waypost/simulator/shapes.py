"""The forms an answer can take: whole or compact records, with or without nulls, as JSON, GeoJSON or CSV."""

import csv
import io
import re
from typing import Any

import msgspec

from waypost.simulator.dice import Floats
from waypost.simulator.query import Form, ProviderQuery

_KM_A_MILE = 1.609344
_KILOMETRES, _MILES = 1, 2
# What `compact=true` leaves out, because the id beside it says the same.
_OBJECTS = frozenset({"DataProvider", "OperatorInfo", "UsageType", "StatusType", "SubmissionStatus"})
_PLUG_OBJECTS = frozenset({"ConnectionType", "StatusType", "Level", "CurrentType"})
_LEADING_CAPITALS = re.compile(r"^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+$|^[A-Z]")
_CSV_ADDRESS = ("AddressLine1", "AddressLine2", "Town", "StateOrProvince", "Postcode")
_CSV_HEADER = ("ID", "UUID", "LocationTitle", *_CSV_ADDRESS, "Country", "Latitude", "Longitude", "Operator")
_CSV_HEADER_END = ("ConnectionType", "PowerKW", "NumberOfPoints", "StatusType", "DateLastStatusUpdate", "DateCreated")

MEDIA_TYPES = {"json": "application/json", "geojson": "application/geo+json", "csv": "text/csv"}


def is_stored(query: ProviderQuery) -> bool:
    """Whether the answer consists of records as they are kept; other answers must decode them."""
    return query.output == "json" and query.near is None and not query.camel_case


def array(records: list[bytes]) -> bytes:
    return b"".join((b"[", b",".join(records), b"]"))


def body(records: list[bytes], kilometres: Floats | None, query: ProviderQuery) -> bytes:
    """The answer's bytes, from whole records."""
    decoded = [msgspec.json.decode(record) for record in records]
    if kilometres is not None and query.near:
        for record, distance in zip(decoded, kilometres.tolist(), strict=True):
            _add_distance(record, distance, miles=query.near.miles)
    if query.output == "csv":
        return _csv(decoded)
    shaped = [shape(record, query.form) for record in decoded]
    if query.camel_case:
        shaped = _camel_keys(shaped)
    if query.output == "geojson":
        features = [_feature(record, form) for record, form in zip(decoded, shaped, strict=True)]
        return msgspec.json.encode({"type": "FeatureCollection", "features": features})
    return msgspec.json.encode(shaped)


def shape(record: dict[str, Any], form: Form) -> dict[str, Any]:
    shaped = _compact(record) if form.compact else record
    return shaped if form.verbose else without_nulls(shaped)


def camel(name: str) -> str:
    """`ID` becomes `id`, `ISOCode` becomes `isoCode`, `PowerKW` becomes `powerKW`."""
    return _LEADING_CAPITALS.sub(lambda match: match[0].lower(), name)


def _add_distance(record: dict[str, Any], kilometres: float, *, miles: bool) -> None:
    address = record["AddressInfo"]
    address["Distance"] = kilometres / _KM_A_MILE if miles else kilometres
    address["DistanceUnit"] = _MILES if miles else _KILOMETRES


def _compact(record: dict[str, Any]) -> dict[str, Any]:
    slim = {name: value for name, value in record.items() if name not in _OBJECTS}
    if isinstance(address := slim.get("AddressInfo"), dict):
        slim["AddressInfo"] = {name: value for name, value in address.items() if name != "Country"}
    if isinstance(plugs := slim.get("Connections"), list):
        slim["Connections"] = [
            {name: value for name, value in plug.items() if name not in _PLUG_OBJECTS}
            if isinstance(plug, dict)
            else plug
            for plug in plugs
        ]
    return slim


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _camel_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {camel(name): _camel_keys(inner) for name, inner in value.items()}
    return [_camel_keys(inner) for inner in value] if isinstance(value, list) else value


def _part(value: Any, *path: str) -> Any:
    """The value under these names, or None where the record lacks one of them."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _first_plug(record: dict[str, Any]) -> Any:
    plugs = record.get("Connections")
    return plugs[0] if isinstance(plugs, list) and plugs else None


def _feature(record: dict[str, Any], form: Any) -> dict[str, Any]:
    plug = _first_plug(record)
    lon, lat = _part(record, "AddressInfo", "Longitude"), _part(record, "AddressInfo", "Latitude")
    return {
        "type": "Feature",
        "id": record["ID"],
        "geometry": None if lat is None or lon is None else {"type": "Point", "coordinates": [lon, lat]},
        "properties": {
            "name": _part(record, "AddressInfo", "Title"),
            "description": _part(record, "AddressInfo", "AddressLine1"),
            "url": _part(record, "AddressInfo", "RelatedURL"),
            "level": _part(plug, "LevelID"),
            "connectiontype": _part(plug, "ConnectionType", "Title"),
            "poi": form,
        },
    }


def _csv(records: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow((*_CSV_HEADER, *_CSV_HEADER_END))
    for record in records:
        address, plug = record.get("AddressInfo"), _first_plug(record)
        writer.writerow(
            (
                record["ID"],
                record.get("UUID"),
                _part(address, "Title"),
                *(_part(address, name) for name in _CSV_ADDRESS),
                _part(address, "Country", "ISOCode"),
                _part(address, "Latitude"),
                _part(address, "Longitude"),
                _part(record, "OperatorInfo", "Title"),
                _part(plug, "ConnectionType", "Title"),
                _part(plug, "PowerKW"),
                record.get("NumberOfPoints"),
                _part(record, "StatusType", "Title"),
                record.get("DateLastStatusUpdate"),
                record.get("DateCreated"),
            )
        )
    return text.getvalue().encode()
