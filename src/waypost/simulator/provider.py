"""What a provider has, and which of it a question gets."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from waypost.simulator.columns import Columns, country_number
from waypost.simulator.dice import Floats, Ints, scramble
from waypost.simulator.query import Box, Near, Query
from waypost.simulator.reference import Reference

_EARTH_KM = 6371.0088
Mask = NDArray[np.bool_]


class Records(Protocol):
    def take(self, rows: Ints) -> list[bytes]:
        """The records of these rows, each as JSON with all fields."""
        ...


class Provider:
    """Published records with an index over them. It never changes, so any number of threads may ask."""

    def __init__(self, columns: Columns, records: Records, reference: Reference) -> None:
        self._columns = columns
        self._records = records
        self.reference = reference

    def __len__(self) -> int:
        return len(self._columns.ids)

    def take(self, rows: Ints) -> list[bytes]:
        return self._records.take(rows)

    def select(self, query: Query) -> Ints:
        """The rows that answer the question, in its order, cut at its limit."""
        rows = np.flatnonzero(self._matches(query))
        return self._ordered(rows, query)[: query.limit]

    def kilometres(self, rows: Ints, near: Near) -> Floats:
        lats, lons = np.radians(self._columns.lats[rows]), np.radians(self._columns.lons[rows])
        lat, lon = np.radians(near.lat), np.radians(near.lon)
        half = np.sin((lats - lat) / 2) ** 2 + np.cos(lats) * np.cos(lat) * np.sin((lons - lon) / 2) ** 2
        kilometres: Floats = 2 * _EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
        return kilometres

    def _matches(self, query: Query) -> Mask:
        columns = self._columns
        mask = np.ones(len(self), dtype=np.bool_)
        if query.above_id is not None:
            mask &= columns.ids > query.above_id
        if query.modified_since is not None:
            mask &= columns.modified >= query.modified_since
        if query.created_since is not None:
            mask &= columns.created >= query.created_since
        if query.open_data:
            mask &= columns.open_data
        if query.box is not None:
            mask &= self._inside(query.box)
        # A code that is no country's is ignored; when none is left, so is the whole condition.
        known = [country_number(code) for code in query.countries & self.reference.country_codes]
        conditions = (
            (columns.countries, known),
            (columns.operators, query.operators),
            (columns.usages, query.usages),
            (columns.statuses, query.statuses),
            (columns.providers, query.providers),
        )
        for column, wanted in conditions:
            if wanted:
                mask &= np.isin(column, list(wanted))
        for column, wanted in ((columns.plug_kinds, query.plug_kinds), (columns.plug_levels, query.plug_levels)):
            if wanted:
                mask &= self._with_plug(np.isin(column, list(wanted)))
        return mask & self._within(mask, query.near) if query.near else mask

    def _with_plug(self, plugs: Mask) -> Mask:
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[self._columns.plug_rows[plugs]] = True
        return mask

    def _inside(self, box: Box) -> Mask:
        lats, lons = self._columns.lats, self._columns.lons
        return (lats >= box.south) & (lats <= box.north) & (lons >= box.west) & (lons <= box.east)

    def _within(self, mask: Mask, near: Near) -> Mask:
        rows = np.flatnonzero(mask)
        within = np.zeros(len(self), dtype=np.bool_)
        # A place without coordinates is at no distance: NaN is never below anything.
        within[rows[self.kilometres(rows, near) <= near.kilometres]] = True
        return within

    def _ordered(self, rows: Ints, query: Query) -> Ints:
        match query.order:
            case "id":
                return rows
            case "newest":
                return rows[::-1]
            case "distance" if query.near:
                return rows[np.argsort(self.kilometres(rows, query.near), kind="stable")]
            case "modified":
                return self._by_time(rows, self._columns.modified)
            case "created":
                return self._by_time(rows, self._columns.created)
            case _:
                return rows[np.argsort(scramble(self._columns.ids[rows]))]

    def _by_time(self, rows: Ints, times: Ints) -> Ints:
        # The provider has no tie-break, so equal times come in an order nobody may rely on.
        return rows[np.lexsort((scramble(self._columns.ids[rows]), times[rows]))]
