"""From a query to rows: the narrowest condition finds rows and the others filter them; a wide box is walked."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np

from waypost.serving.format import NEVER, microseconds
from waypost.serving.reading.boxes import is_everywhere
from waypost.serving.reading.columns import Columns
from waypost.serving.reading.conditions import Condition, HasOneOf, HasWord, Meets
from waypost.serving.reading.grid import Grid
from waypost.serving.reading.inside import MANY, Inside, in_boxes
from waypost.serving.reading.lists import Lists
from waypost.serving.reading.nearest import Nearest
from waypost.serving.reading.query import Query, check_query, prefixes
from waypost.serving.reading.recent import Recent
from waypost.serving.reading.rowsets import NO_ROWS, Rows
from waypost.serving.reading.selected import Selected

# At most this many rows are looked at for one answer from a wide box; then it ends short of its limit and says where to
# go on.
MOST_WALKED = 2_000_000
_RECENT_BYTES = 8 * 2**20


class Selecting:
    """Answers queries from the columns and lists of one generation."""

    def __init__(self, columns: Columns, lists: dict[str, Lists]) -> None:
        self._columns, self._lists = columns, lists
        self._count = columns.count
        self._grid = Grid(columns.keys)
        self._nearest = Nearest(columns, self._grid)
        self._recent: Recent[Rows] = Recent(_RECENT_BYTES)

    def select(self, query: Query, limit: int, start: int = 0) -> Selected:
        check_query(query)
        limit, start = max(0, limit), max(0, start)
        found = self._in_narrow_box(query)
        if found is None:
            conditions = self._conditions(query)
            if query.near is not None:
                return self._near(query, conditions, limit, start)
            if not conditions:
                return self._slice(limit, start)
            box = _wide(conditions)
            if box is not None:
                return self._walk(box, conditions, limit, start)
            found = self._found(query, conditions)
        # In the rows' own type: otherwise numpy would convert all of them.
        first = int(found.searchsorted(np.uint32(min(start, self._count)))) if start else 0
        last = first + limit
        following = int(found[last]) if last < len(found) else None
        return self._selected(len(found), found[first:last], following)

    def rows(self, query: Query) -> Rows | None:
        """All rows that match a query, ascending; None when it sets no condition."""
        check_query(query)
        conditions = self._conditions(query)
        if query.near is not None and query.radius is not None:
            return self._nearest.within(query.near, query.radius, conditions)
        return self._found(query, conditions) if conditions else None

    def _in_narrow_box(self, query: Query) -> Rows | None:
        """The rows of a box, if nothing else is asked: a short cut, because maps ask this again and again."""
        box = query.box
        if box is None or query != Query(box=box) or is_everywhere(box) or box[0] > box[2]:
            return None
        return in_boxes(self._columns, (box,)) if 0 < self._grid.most(box) <= MANY else None

    def _found(self, query: Query, conditions: Sequence[Condition]) -> Rows:
        if len(conditions) == 1 and conditions[0].most <= MANY:
            # A view of the map or a quick search: remembering it would cost more.
            return conditions[0].rows()
        found = self._recent.get(query)
        if found is None:
            found = sieve(conditions)
            self._recent.put(query, found, found.nbytes)
        return found

    def _slice(self, limit: int, start: int) -> Selected:
        end = min(self._count, start + limit)
        return self._selected(
            self._count, np.arange(min(start, end), end, dtype=np.uint32), end if end < self._count else None
        )

    def _walk(self, box: Inside, conditions: Sequence[Condition], limit: int, start: int) -> Selected:
        others = [condition for condition in conditions if condition is not box]
        found: list[Rows] = [NO_ROWS]
        held, walked = 0, 0
        following: int | None = None
        for inside, looked_at, end in box.walk(start):
            kept = inside
            for condition in others:
                kept = condition.keep(kept)
            found.append(kept)
            held, walked = held + len(kept), walked + looked_at
            if held > limit or walked >= MOST_WALKED:
                following = end
                break
        rows = np.concatenate(found)
        return self._selected(None, rows[:limit], int(rows[limit]) if held > limit else following)

    def _near(self, query: Query, conditions: Sequence[Condition], limit: int, start: int) -> Selected:
        assert query.near is not None
        ranked = self._nearest.ranked(query.near, (start, start + limit), query.radius, conditions)
        return Selected(
            matched=ranked.matched,
            rows=ranked.rows,
            next=start + limit if ranked.goes_on else None,
            metres=ranked.metres,
            features=self._columns.features,
            offsets=self._columns.offsets,
        )

    def _selected(self, matched: int | None, rows: Rows, following: int | None) -> Selected:
        columns = self._columns
        return Selected(matched=matched, rows=rows, next=following, features=columns.features, offsets=columns.offsets)

    def _conditions(self, query: Query) -> list[Condition]:
        """The query's conditions, narrowest first."""
        found = list(self._each(query))
        if len(found) > 1:
            found.sort(key=lambda condition: condition.most)
        return found

    def _each(self, query: Query) -> Iterator[Condition]:
        columns, lists, count = self._columns, self._lists, self._count
        if query.box is not None and not is_everywhere(query.box):
            yield Inside(columns, self._grid, query.box)
        if query.text is not None:
            for prefix in prefixes(query.text):
                yield HasWord(lists["words"], prefix, count)
        for field, values in query.values():
            yield HasOneOf(lists[field], values, count)
        if query.power_from is not None:
            yield at_least(columns, query.power_from)
        if query.updated_from is not None or query.updated_to is not None:
            yield updated_between(columns, query.updated_from, query.updated_to)


def sieve(conditions: Sequence[Condition]) -> Rows:
    """The rows that meet all conditions, of which the first is the narrowest."""
    found = conditions[0].rows()
    for condition in conditions[1:]:
        if not len(found):
            break
        found = condition.keep(found)
    return found


def _wide(conditions: Sequence[Condition]) -> Inside | None:
    """The box's condition, if it is wide and no other condition is narrow; else None."""
    if conditions[0].most <= MANY:
        return None
    return next((condition for condition in conditions if isinstance(condition, Inside)), None)


def at_least(columns: Columns, power: float) -> Meets:
    """The condition of having at least this power, compared as 32-bit floats as in the column: 22.1 matches 22.1."""
    with np.errstate(over="ignore"):
        least = np.float32(power)
    return Meets(columns.power, lambda powers: powers >= least)


def updated_between(columns: Columns, since: datetime | None, until: datetime | None) -> Meets:
    first = NEVER + 1 if since is None else microseconds(since)
    if until is None:
        return Meets(columns.updated, lambda moments: moments >= first)
    last = microseconds(until)
    return Meets(columns.updated, lambda moments: (moments >= first) & (moments <= last))
