"""The fields of every record that filters need, as arrays: a slim index beside the records' bytes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from waypost.kernel.clock import to_us
from waypost.simulator.reference import Entry, Lists, Reference, built_in

NO_ID = -1
NEVER = np.iinfo(np.int64).min
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


@dataclass(frozen=True)
class PlaceColumns:
    """One row a place, ascending by id; the `plug_` columns have one row a connection and name its place's row."""

    ids: NDArray[np.int64]
    countries: NDArray[np.uint16]
    lats: NDArray[np.float64]
    lons: NDArray[np.float64]
    modified: NDArray[np.int64]
    created: NDArray[np.int64]
    operators: NDArray[np.int64]
    usages: NDArray[np.int64]
    statuses: NDArray[np.int64]
    providers: NDArray[np.int64]
    open_data: NDArray[np.bool_]
    # Places that are not published are in no answer.
    published: NDArray[np.bool_]
    plug_rows: NDArray[np.int64]
    plug_kinds: NDArray[np.int64]
    plug_levels: NDArray[np.int64]


class GrowingColumns:
    """Columns with room at their ends: most times a place is added without copying the others."""

    def __init__(self, columns: PlaceColumns) -> None:
        self.now = columns
        self._stores = {field.name: getattr(columns, field.name) for field in fields(PlaceColumns)}

    def append(self, more: PlaceColumns) -> None:
        """Adds rows; a thread that still reads the earlier columns sees them unchanged."""
        grown = {}
        for name, store in self._stores.items():
            old, new = getattr(self.now, name), getattr(more, name)
            used = len(old) + len(new)
            if used > len(store):
                spare = np.empty(len(new) + len(old) // 8, dtype=old.dtype)
                self._stores[name] = store = np.concatenate((old, spare))  # noqa: PLW2901 - the larger one
            store[len(old) : used] = new
            grown[name] = store[:used]
        self.now = PlaceColumns(**grown)


def country_number(code: str) -> int:
    """Two letters as one number; 0 if they are not a country code."""
    if len(code) != 2 or not code.isascii() or not code.isalpha():  # noqa: PLR2004 - alpha-2 codes have two letters
        return 0
    first, second = code.upper().encode()
    return first << 8 | second


def microseconds(text: str) -> int | None:
    """A time as in the columns, or None; without an offset it is taken as UTC, as the provider does."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return to_us(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


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
