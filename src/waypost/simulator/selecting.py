"""Which rows match a query, and in which order."""

import numpy as np
from numpy.typing import NDArray

from waypost.simulator.columns import PlaceColumns, country_number
from waypost.simulator.dice import Floats, Ints, scramble
from waypost.simulator.query import Near, ProviderQuery, QueryBox
from waypost.simulator.reference import Reference

_EARTH_KM = 6371.0088
# Enough rows that most pages by id are found in one go, few enough to cost next to nothing.
_BLOCK = 32_768
Mask = NDArray[np.bool_]


class Selection:
    """One query on the columns as they are now."""

    def __init__(self, columns: PlaceColumns, reference: Reference, query: ProviderQuery) -> None:
        self._columns = columns
        self._query = query
        # An unknown country code is ignored; when none is left, so is the whole condition.
        self._countries = [country_number(code) for code in query.countries & reference.country_codes]
        self._with_plugs = [
            self._with_plug(np.isin(column, list(wanted)))
            for column, wanted in ((columns.plug_kinds, query.plug_kinds), (columns.plug_levels, query.plug_levels))
            if wanted
        ]

    def rows(self) -> Ints:
        if self._query.order == "id":
            return self._first_by_id()
        return self._ordered(self._matching(slice(None)))[: self._query.limit]

    def _first_by_id(self) -> Ints:
        """The first matching rows by id: ids ascend with the rows, so not all of them need a look."""
        ids, after = self._columns.ids, self._query.above_id
        start = 0 if after is None else int(np.searchsorted(ids, after, side="right"))
        found = np.empty(0, dtype=np.int64)
        for begin in range(start, len(ids), _BLOCK):
            found = np.concatenate((found, begin + self._matching(slice(begin, begin + _BLOCK))))
            if len(found) >= self._query.limit:
                break
        return found[: self._query.limit]

    def _matching(self, part: slice) -> Ints:
        """Numbers of the rows that match, counted from the part's beginning."""
        columns, query = self._columns, self._query
        mask = columns.published[part].copy()
        if query.above_id is not None:
            mask &= columns.ids[part] > query.above_id
        if query.modified_since is not None:
            mask &= columns.modified[part] >= query.modified_since
        if query.created_since is not None:
            mask &= columns.created[part] >= query.created_since
        if query.open_data:
            mask &= columns.open_data[part]
        if query.box is not None:
            mask &= _inside(columns.lats[part], columns.lons[part], query.box)
        conditions = (
            (columns.countries, self._countries),
            (columns.operators, query.operators),
            (columns.usages, query.usages),
            (columns.statuses, query.statuses),
            (columns.providers, query.providers),
        )
        for column, wanted in conditions:
            if wanted:
                mask &= np.isin(column[part], list(wanted))
        for with_plug in self._with_plugs:
            mask &= with_plug[part]
        rows = np.flatnonzero(mask)
        return rows[self._is_near(rows + (part.start or 0), query.near)] if query.near else rows

    def _with_plug(self, plugs: Mask) -> Mask:
        mask = np.zeros(len(self._columns.ids), dtype=np.bool_)
        mask[self._columns.plug_rows[plugs]] = True
        return mask

    def _is_near(self, rows: Ints, near: Near) -> Mask:
        # A place without coordinates is never near: NaN is never below anything.
        within: Mask = kilometres(self._columns, rows, near) <= near.kilometres
        return within

    def _ordered(self, rows: Ints) -> Ints:
        query, columns = self._query, self._columns
        match query.order:
            case "newest":
                return rows[::-1]
            case "distance" if query.near:
                return rows[np.argsort(kilometres(columns, rows, query.near), kind="stable")]
            case "modified":
                return self._by_time(rows, columns.modified)
            case "created":
                return self._by_time(rows, columns.created)
            case _:
                return rows[np.argsort(scramble(columns.ids[rows]))]

    def _by_time(self, rows: Ints, times: Ints) -> Ints:
        # The provider has no tie-break, so equal times come in an order that no client may rely on.
        return rows[np.lexsort((scramble(self._columns.ids[rows]), times[rows]))]


def kilometres(columns: PlaceColumns, rows: Ints, near: Near) -> Floats:
    lats, lons = np.radians(columns.lats[rows]), np.radians(columns.lons[rows])
    lat, lon = np.radians(near.lat), np.radians(near.lon)
    half = np.sin((lats - lat) / 2) ** 2 + np.cos(lats) * np.cos(lat) * np.sin((lons - lon) / 2) ** 2
    away: Floats = 2 * _EARTH_KM * np.arcsin(np.sqrt(np.minimum(half, 1.0)))
    return away


def _inside(lats: Floats, lons: Floats, box: QueryBox) -> Mask:
    return (lats >= box.south) & (lats <= box.north) & (lons >= box.west) & (lons <= box.east)
