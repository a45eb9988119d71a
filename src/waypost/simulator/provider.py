"""A provider's records and the changes to them: as made or loaded, patched since, and kept while there is room."""

import threading
from dataclasses import replace
from typing import Any, Protocol

import msgspec
import numpy as np

from waypost.simulator.columns import GrowingColumns, PlaceColumns, columns_of, row_of
from waypost.simulator.dice import Ints
from waypost.simulator.patches import Patch, apply
from waypost.simulator.query import WHOLE, Form, ProviderQuery
from waypost.simulator.reference import Reference
from waypost.simulator.selecting import Selection
from waypost.simulator.shapes import shape

# What a kept record takes besides its bytes.
_OVERHEAD_BYTES = 150
KEPT_BYTES = 256 * 2**20


class RecordOrigin(Protocol):
    """Where records come from."""

    def take(self, rows: Ints, form: Form) -> list[bytes]:
        """The records of these rows as JSON, in this form."""


class Stock:
    """Makes and keeps records. Several threads may ask at once: at worst they make the same record twice."""

    def __init__(self, origin: RecordOrigin, reference: Reference, places: int, room: int) -> None:
        self._origin = origin
        self._reference = reference
        self._places = places
        self._room = room
        self._copied: list[int] = []
        self._patches: dict[int, Patch] = {}
        self._kept: dict[Form, dict[int, bytes]] = {
            Form(compact=compact, verbose=verbose): {} for compact in (False, True) for verbose in (False, True)
        }
        self._lock = threading.Lock()

    def take(self, rows: Ints, form: Form = WHOLE) -> list[bytes]:
        wanted, kept = rows.tolist(), self._kept[form]
        found = [kept.get(row) for row in wanted]
        missing = [row for row, record in zip(wanted, found, strict=True) if record is None]
        fresh = self._make(missing, form) if missing else {}
        return [record or fresh[row] for row, record in zip(wanted, found, strict=True)]

    def patch_of(self, row: int) -> Patch | None:
        return self._patches.get(row)

    def change(self, row: int, patch: Patch) -> None:
        with self._lock:
            self._patches[row] = patch
            self._drop(row)

    def copy(self, row: int, patch: Patch) -> None:
        """Adds a row at the end: this row's original record, with a patch of its own."""
        with self._lock:
            copied = self._places + len(self._copied)
            self._copied.append(self._first(row))
            self._patches[copied] = patch

    def forget(self, row: int) -> None:
        with self._lock:
            self._drop(row)

    def _drop(self, row: int) -> None:
        for kept in self._kept.values():
            if (record := kept.pop(row, None)) is not None:
                self._room += len(record) + _OVERHEAD_BYTES

    def _first(self, row: int) -> int:
        return row if row < self._places else self._copied[row - self._places]

    def _make(self, rows: list[int], form: Form) -> dict[int, bytes]:
        patches = {row: self._patches.get(row) for row in rows}
        plain = [row for row, patch in patches.items() if patch is None]
        made = dict(zip(plain, self._originals(plain, form), strict=True))
        changed = {row: patch for row, patch in patches.items() if patch is not None}
        for (row, patch), first in zip(changed.items(), self._originals(list(changed), WHOLE), strict=True):
            made[row] = self._patched(first, patch, form)
        self._keep(made, patches, form)
        return made

    def _originals(self, rows: list[int], form: Form) -> list[bytes]:
        firsts = np.array([self._first(row) for row in rows], dtype=np.int64)
        return self._origin.take(firsts, form) if rows else []

    def _patched(self, first: bytes, patch: Patch, form: Form) -> bytes:
        record: dict[str, Any] = msgspec.json.decode(first)
        apply(patch, record, self._reference)
        return msgspec.json.encode(shape(record, form))

    def _keep(self, made: dict[int, bytes], patches: dict[int, Patch | None], form: Form) -> None:
        kept = self._kept[form]
        with self._lock:
            for row, record in made.items():
                size = len(record) + _OVERHEAD_BYTES
                if self._room < size:
                    return
                # The record may have been changed again while this was made.
                if row not in kept and self._patches.get(row) is patches[row]:
                    self._room -= size
                    kept[row] = record


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
