"""The fields of every record that filters need, as arrays: a slim index beside the records' bytes."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from waypost.kernel.clock import to_us

NO_ID = -1
NEVER = np.iinfo(np.int64).min


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
