"""The slim index over given records, such as those of a file.

A field that a record lacks, or has in a wrong type, counts as absent.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from waypost.simulator.columns import NEVER, NO_ID, PlaceColumns, country_number, microseconds
from waypost.simulator.reference import Entry, Lists, Reference, built_in

_LARGEST_INT = 2**63 - 1
_MENTIONS = {
    "DataProvider": "DataProviders",
    "OperatorInfo": "Operators",
    "UsageType": "UsageTypes",
    "StatusType": "StatusTypes",
    "SubmissionStatus": "SubmissionStatusTypes",
}
_PLUG_MENTIONS = {
    "ConnectionType": "ConnectionTypes",
    "Level": "ChargerTypes",
    "StatusType": "StatusTypes",
    "CurrentType": "CurrentTypes",
}


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of one record that filters need."""

    number: int
    country: str
    country_id: int
    lat: float
    lon: float
    modified: int
    created: int
    operator: int
    usage: int
    status: int
    provider: int
    open_data: bool
    plugs: tuple[tuple[int, int], ...]


def whole(value: object) -> int:
    """The value if it is a whole number that fits a column, else NO_ID."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_INT:
        return value
    return NO_ID


def row_of(record: dict[str, Any]) -> Row:
    address = _object(record.get("AddressInfo"))
    country = _object(address.get("Country")).get("ISOCode")
    return Row(
        number=whole(record.get("ID")),
        country=country if isinstance(country, str) else "",
        country_id=whole(address.get("CountryID")),
        lat=_coordinate(address.get("Latitude")),
        lon=_coordinate(address.get("Longitude")),
        modified=_time(record.get("DateLastStatusUpdate")),
        created=_time(record.get("DateCreated")),
        operator=whole(record.get("OperatorID")),
        usage=whole(record.get("UsageTypeID")),
        status=whole(record.get("StatusTypeID")),
        provider=whole(record.get("DataProviderID")),
        open_data=_object(record.get("DataProvider")).get("IsOpenDataLicensed") is True,
        plugs=tuple((whole(plug.get("ConnectionTypeID")), whole(plug.get("LevelID"))) for plug in _plugs(record)),
    )


class Mentions:
    """Collects reference entries from records; they replace the built-in ones with the same ids."""

    def __init__(self) -> None:
        self._entries = {name: {entry["ID"]: entry for entry in entries} for name, entries in built_in().items()}
        # These are invented for generated places, and the places of a file do not use them.
        for invented in ("Operators", "DataProviders"):
            self._entries[invented].clear()

    def note(self, record: dict[str, Any]) -> None:
        for field, name in _MENTIONS.items():
            self._note(name, record.get(field))
        for plug in _plugs(record):
            for field, name in _PLUG_MENTIONS.items():
                self._note(name, plug.get(field))
        country = _object(record.get("AddressInfo")).get("Country")
        if isinstance(country, dict) and country_number(str(country.get("ISOCode"))):
            self._note("Countries", country)

    def reference(self) -> Reference:
        lists: Lists = {name: [entries[key] for key in sorted(entries)] for name, entries in self._entries.items()}
        return Reference.of(lists)

    def _note(self, name: str, entry: Any) -> None:
        if isinstance(entry, dict) and (number := whole(entry.get("ID"))) != NO_ID:
            self._entries[name][number] = entry


def columns_of(rows: Sequence[Row], reference: Reference) -> PlaceColumns:
    """The index over rows that are sorted by their numbers."""
    codes = {key: str(entry.get("ISOCode")) for key, entry in reference.by_id("Countries").items()}
    plugs = [(index, kind, level) for index, row in enumerate(rows) for kind, level in row.plugs]
    by_plug = np.array(plugs, dtype=np.int64).reshape(-1, 3)
    return PlaceColumns(
        ids=np.array([row.number for row in rows], dtype=np.int64),
        countries=np.array(
            [country_number(row.country or codes.get(row.country_id, "")) for row in rows], dtype=np.uint16
        ),
        lats=np.array([row.lat for row in rows], dtype=np.float64),
        lons=np.array([row.lon for row in rows], dtype=np.float64),
        modified=np.array([row.modified for row in rows], dtype=np.int64),
        created=np.array([row.created for row in rows], dtype=np.int64),
        operators=np.array([row.operator for row in rows], dtype=np.int64),
        usages=np.array([row.usage for row in rows], dtype=np.int64),
        statuses=np.array([row.status for row in rows], dtype=np.int64),
        providers=np.array([row.provider for row in rows], dtype=np.int64),
        open_data=np.array([row.open_data for row in rows], dtype=np.bool_),
        published=np.ones(len(rows), dtype=np.bool_),
        plug_rows=by_plug[:, 0],
        plug_kinds=by_plug[:, 1],
        plug_levels=by_plug[:, 2],
    )


def _object(value: Any) -> Entry:
    return value if isinstance(value, dict) else {}


def _plugs(record: dict[str, Any]) -> Iterator[Entry]:
    plugs = record.get("Connections")
    return (plug for plug in plugs if isinstance(plug, dict)) if isinstance(plugs, list) else iter(())


def _coordinate(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _time(value: Any) -> int:
    found = microseconds(value) if isinstance(value, str) else None
    return NEVER if found is None else found
