"""Sets of rows as ascending arrays: their unions and intersections."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]

NO_ROWS: Rows = np.empty(0, dtype=np.uint32)
# From one row in this many on, a mark for each row is cheaper than sorting them.
_MANY = 8
# Searching for a row takes as long as making or reading `_SEARCH` marks; clearing marks is `_CLEAR` times quicker.
_SEARCH, _CLEAR = 40, 32
# A set with this many times fewer rows is looked for in the other one.
_FEWER = 16


def union(rows: Rows, count: int) -> Rows:
    """Sorts rows and drops those that come twice."""
    if len(rows) > count // _MANY:
        return marked(rows, count).nonzero()[0].astype(np.uint32)
    ordered = np.sort(rows)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def marked(rows: Rows, count: int) -> Mask:
    marks: Mask = np.zeros(count, dtype=np.bool_)
    # In numpy's own index type: without the conversion it takes about twice as long.
    marks[rows.astype(np.intp)] = True
    return marks


def among(rows: Rows, others: Rows, count: int) -> Mask:
    """A mask of the rows that are among the others; both ascend."""
    if not len(others):
        return np.zeros(len(rows), dtype=np.bool_)
    few = min(len(rows), len(others) * _FEWER)
    if few * _SEARCH > count // _CLEAR + len(others) + len(rows):
        return marked(others, count).take(rows)
    if len(others) * _FEWER < len(rows):
        return _few_among(rows, others)
    at = others.searchsorted(rows)
    at[at == len(others)] = 0
    found: Mask = others[at] == rows
    return found


def _few_among(rows: Rows, others: Rows) -> Mask:
    """As `among`, by looking for the others, of which there are few."""
    at = rows.searchsorted(others)
    inside = at < len(rows)
    at, others = at[inside], others[inside]
    found: Mask = np.zeros(len(rows), dtype=np.bool_)
    found[at[rows[at] == others]] = True
    return found


def among_any(rows: Rows, sets: Sequence[Rows], count: int) -> Mask:
    found = among(rows, sets[0], count)
    for others in sets[1:]:
        found |= among(rows, others, count)
    return found
