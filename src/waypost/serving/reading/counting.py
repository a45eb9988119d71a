"""How many places have each value of a field."""

import numpy as np

from waypost.serving.reading.lists import Lists
from waypost.serving.reading.rowsets import Rows, marked


def count_values(lists: Lists, rows: Rows | None, count: int, limit: int | None) -> list[tuple[str, int]]:
    """Values with the number of these rows that have them (of all rows when None), most first, then by value."""
    starts = lists.starts
    used = np.flatnonzero(starts[1:] > starts[:-1])
    if rows is None:
        found = (starts[1:] - starts[:-1])[used].astype(np.int64)
    elif len(used) and len(rows):
        found = np.add.reduceat(marked(rows, count)[lists.rows], starts[used].astype(np.intp), dtype=np.int64)
    else:
        return []
    # Values ascend, so a stable sort keeps equal counts in order of value.
    order = np.argsort(-found, kind="stable")
    order = order[found[order] > 0][:limit]
    return [(lists.text(int(used[at])).decode("utf-8", "replace"), int(found[at])) for at in order]
