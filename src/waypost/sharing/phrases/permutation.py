"""A keyed shuffle of range(size) that needs no table, and that nobody without the key can foresee."""

import hashlib
import math

_PAIRS_OF_ROUNDS = 4
_HALF_BYTES = 8
_LARGEST = 1 << (2 * 8 * _HALF_BYTES)


class Permutation:
    """A Feistel network over the cells of a grid that is as square as can be and barely holds `size`.

    A number is a row and a column. Each round moves one of them by a keyed hash of the other, which can be undone.
    A value outside the range is sent through again (cycle walking) until it lands inside, which keeps the mapping a
    bijection; the grid has less than one row too many, so this is rare.
    """

    __slots__ = ("_columns", "_rounds", "_rows", "size")

    def __init__(self, size: int, key: bytes) -> None:
        if not 1 <= size <= _LARGEST:
            raise ValueError(f"a permutation has a size of 1 to 2**{_LARGEST.bit_length() - 1}, not {size}")
        if not key:
            raise ValueError("a permutation without a key would be the same for everybody")
        self.size = size
        self._columns = math.isqrt(size - 1) + 1
        self._rows = -(-size // self._columns)
        # A key of any length is hashed to one that fits.
        fitted = hashlib.blake2s(key).digest()
        states = [_keyed_state(fitted, b"%d/%d" % (size, turn)) for turn in range(2 * _PAIRS_OF_ROUNDS)]
        self._rounds = tuple(zip(states[::2], states[1::2], strict=True))

    def __call__(self, number: int) -> int:
        value = self._forward(self._within(number))
        while value >= self.size:
            value = self._forward(value)
        return value

    def inverse(self, value: int) -> int:
        number = self._backward(self._within(value))
        while number >= self.size:
            number = self._backward(number)
        return number

    def _within(self, number: int) -> int:
        if not 0 <= number < self.size:
            raise ValueError(f"{number} is outside 0..{self.size - 1}")
        return number

    # Both directions spell the rounds out: a function for one round would be called eight times for every phrase.

    def _forward(self, value: int) -> int:
        rows, columns = self._rows, self._columns
        row, column = divmod(value, columns)
        for by_column, by_row in self._rounds:
            state = by_column.copy()
            state.update(column.to_bytes(_HALF_BYTES, "little"))
            row = (row + int.from_bytes(state.digest(), "little")) % rows
            state = by_row.copy()
            state.update(row.to_bytes(_HALF_BYTES, "little"))
            column = (column + int.from_bytes(state.digest(), "little")) % columns
        return row * columns + column

    def _backward(self, value: int) -> int:
        rows, columns = self._rows, self._columns
        row, column = divmod(value, columns)
        for by_column, by_row in reversed(self._rounds):
            state = by_row.copy()
            state.update(row.to_bytes(_HALF_BYTES, "little"))
            column = (column - int.from_bytes(state.digest(), "little")) % columns
            state = by_column.copy()
            state.update(column.to_bytes(_HALF_BYTES, "little"))
            row = (row - int.from_bytes(state.digest(), "little")) % rows
        return row * columns + column


def _keyed_state(key: bytes, name: bytes) -> hashlib.blake2s:
    """A hash that has taken a round's own key as the start of its message, to be copied for each use.

    Key and message then share one block, which is enough for BLAKE2 to be a good keyed hash; its key parameter would
    fill a block of its own and take twice as long.
    """
    return hashlib.blake2s(hashlib.blake2s(name, key=key).digest(), digest_size=2 * _HALF_BYTES)
