"""Conditions on rows: each knows how many rows can meet it, finds them all, and filters rows found by others."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from waypost.serving.reading.lists import Lists
from waypost.serving.reading.rowsets import NO_ROWS, Mask, Rows, among, among_any, union

# Up to this many sets are searched one by one; more are united first.
_FEW_SETS = 8
_STEP = 1 << 16


class Condition(Protocol):
    @property
    def most(self) -> int:
        """No more rows than this meet it."""

    def rows(self) -> Rows:
        """All rows that meet it, ascending."""

    def keep(self, rows: Rows) -> Rows:
        """Those of these ascending rows that meet it."""


class HasOneOf:
    """A field has one of several values."""

    def __init__(self, lists: Lists, values: Sequence[str], count: int) -> None:
        self._sets = [rows for value in dict.fromkeys(values) if len(rows := lists.having(value))]
        self._count = count
        # A place may have several of the values.
        self.most = min(count, sum(map(len, self._sets)))

    def rows(self) -> Rows:
        match self._sets:
            case []:
                return NO_ROWS
            case [rows]:
                return rows
        return self._united

    def keep(self, rows: Rows) -> Rows:
        if not self._sets:
            return NO_ROWS
        if len(self._sets) > _FEW_SETS:
            return rows[among(rows, self._united, self._count)]
        return rows[among_any(rows, self._sets, self._count)]

    @cached_property
    def _united(self) -> Rows:
        return union(np.concatenate(self._sets), self._count)


class HasWord:
    """One of the place's words begins with a prefix."""

    def __init__(self, lists: Lists, prefix: str, count: int) -> None:
        self._found, self._is_one_word = lists.beginning(prefix)
        self._count = count
        self.most = min(count, len(self._found))

    def rows(self) -> Rows:
        return self._found if self._is_one_word else self._united

    def keep(self, rows: Rows) -> Rows:
        return rows[among(rows, self.rows(), self._count)]

    @cached_property
    def _united(self) -> Rows:
        return union(self._found, self._count)


class Meets:
    """A number of the place, such as its power, passes a test."""

    def __init__(self, column: NDArray[Any], test: Callable[[NDArray[Any]], Mask]) -> None:
        self._column, self._test = column, test
        self.most = len(column)

    def rows(self) -> Rows:
        column, test = self._column, self._test
        steps = (test(column[at : at + _STEP]).nonzero()[0] + at for at in range(0, len(column), _STEP))
        return np.concatenate([NO_ROWS, *(step.astype(np.uint32) for step in steps)])

    def keep(self, rows: Rows) -> Rows:
        return rows[self._test(self._column[rows])]
