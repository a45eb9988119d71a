"""A provider's records, and the changes to them."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from waypost.simulator.columns import GrowingColumns, PlaceColumns
from waypost.simulator.dice import Ints
from waypost.simulator.indexing import columns_of, row_of
from waypost.simulator.patches import Patch, apply
from waypost.simulator.query import WHOLE, Form, ProviderQuery
from waypost.simulator.reference import Reference
from waypost.simulator.selecting import Selection
from waypost.simulator.stock import RecordOrigin, Stock

KEPT_BYTES = 256 * 2**20


class Provider:
    """Records with an index over them. Any number of threads may read while one makes changes."""

    def __init__(
        self, columns: PlaceColumns, origin: RecordOrigin, reference: Reference, *, room: int = KEPT_BYTES
    ) -> None:
        self.reference = reference
        self._growing = GrowingColumns(columns)
        self._stock = Stock(origin, reference, len(columns.ids), room)
        self._published = int(np.count_nonzero(columns.published))

    def __len__(self) -> int:
        """How many places are published."""
        return self._published

    @property
    def columns(self) -> PlaceColumns:
        return self._growing.now

    def select(self, query: ProviderQuery) -> Ints:
        """The rows that match the query, in its order, up to its limit."""
        return Selection(self.columns, self.reference, query).rows()

    def take(self, rows: Ints, form: Form = WHOLE) -> list[bytes]:
        return self._stock.take(rows, form)

    def records(self, rows: list[int]) -> dict[int, dict[str, Any]]:
        """The decoded records, by their rows."""
        return dict(zip(rows, map(msgspec.json.decode, self.take(np.array(rows, dtype=np.int64))), strict=True))

    def patch_of(self, row: int) -> Patch | None:
        return self._stock.patch_of(row)

    def change(self, row: int, patch: Patch, record: dict[str, Any]) -> None:
        """Applies a patch to a place; `record`, as it was until now, is changed too."""
        # The stock first and the index second: a record found by its new time has its new fields.
        self._stock.change(row, patch)
        apply(patch, record, self.reference)
        changed, columns = row_of(record), self.columns
        columns.lats[row], columns.lons[row] = changed.lat, changed.lon
        columns.statuses[row] = changed.status
        columns.modified[row] = changed.modified

    def copy(self, row: int, patch: Patch) -> None:
        """Adds a place like this one; its id must be above all others."""
        added = len(self.columns.ids)
        self._stock.copy(row, patch)
        columns = columns_of([row_of(self.records([added])[added])], self.reference)
        self._growing.append(replace(columns, plug_rows=columns.plug_rows + added))
        self._published += 1

    def unpublish(self, row: int) -> None:
        self.columns.published[row] = False
        self._stock.forget(row)
        self._published -= 1
