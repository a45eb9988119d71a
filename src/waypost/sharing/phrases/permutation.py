"""A keyed shuffle of range(size) that needs no table, and that nobody without the key can foresee."""

import hashlib

_ROUNDS = 8
_HALF_BYTES = 8
_LARGEST = 1 << (2 * 8 * _HALF_BYTES)


class Permutation:
    """A balanced Feistel network over the smallest domain of an even number of bits that holds `size`.

    What lands outside the range is sent through again (cycle walking) until it lands inside, which keeps it a
    bijection. The domain is less than four times the range, so that takes fewer than four turns on average.
    """

    __slots__ = ("_half", "_mask", "_rounds", "size")

    def __init__(self, size: int, key: bytes) -> None:
        if not 1 <= size <= _LARGEST:
            raise ValueError(f"a permutation has a size of 1 to 2**{_LARGEST.bit_length() - 1}, not {size}")
        if not key:
            raise ValueError("a permutation without a key would be the same for everybody")
        self.size = size
        self._half = ((size - 1).bit_length() + 1) // 2
        self._mask = (1 << self._half) - 1
        # A key of any length is hashed to one that fits.
        fitted = hashlib.blake2s(key).digest()
        self._rounds = tuple(_keyed_state(fitted, b"%d/%d" % (size, turn)) for turn in range(_ROUNDS))

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

    # Both directions spell the round out: a function for it would be called eight times for every phrase drawn.

    def _forward(self, value: int) -> int:
        mask = self._mask
        left, right = value >> self._half, value & mask
        for keyed in self._rounds:
            state = keyed.copy()
            state.update(right.to_bytes(_HALF_BYTES, "little"))
            left, right = right, left ^ int.from_bytes(state.digest(), "little") & mask
        return left << self._half | right

    def _backward(self, value: int) -> int:
        mask = self._mask
        left, right = value >> self._half, value & mask
        for keyed in reversed(self._rounds):
            state = keyed.copy()
            state.update(left.to_bytes(_HALF_BYTES, "little"))
            left, right = right ^ int.from_bytes(state.digest(), "little") & mask, left
        return left << self._half | right


def _keyed_state(key: bytes, name: bytes) -> hashlib.blake2s:
    """A hash that has taken a round's own key as the start of its message, to be copied for each use.

    Key and message then share one block, and BLAKE2 needs no more to be a good keyed hash; its key parameter would fill
    a block of its own and take twice as long.
    """
    return hashlib.blake2s(hashlib.blake2s(name, key=key).digest())
