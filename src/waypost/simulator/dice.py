"""Draws that depend only on a seed, a number and a name, so that each place is the same whatever is made around it."""

import zlib

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def scramble(numbers: Ints | Words) -> Words:
    """SplitMix64's finaliser. Written out here because numpy's generators may change their streams between releases."""
    word = numbers.astype(np.uint64) * _GOLDEN
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


class Dice:
    """One die for each number; every name is a separate throw, so a new field changes none of the old ones."""

    def __init__(self, seed: int, numbers: Ints) -> None:
        self._own = scramble(scramble(numbers) ^ np.uint64(seed % 2**64))

    def bits(self, name: str) -> Words:
        return scramble(self._own ^ np.uint64(zlib.crc32(name.encode()) << 16))

    def unit(self, name: str) -> Floats:
        """Numbers from 0 to below 1."""
        return (self.bits(name) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, name: str, bound: int | Ints) -> Ints:
        """Whole numbers from 0 to below the bound (itself below 2**31)."""
        bounds = np.asarray(bound, dtype=np.uint64)
        return (((self.bits(name) >> np.uint64(32)) * bounds) >> np.uint64(32)).astype(np.int64)

    def choose(self, name: str, weights: Floats | tuple[float, ...]) -> Ints:
        """Indexes, each as likely as its weight."""
        steps = np.cumsum(np.asarray(weights, dtype=np.float64))
        found: Ints = np.searchsorted(steps, self.unit(name) * steps[-1], side="right").clip(max=len(steps) - 1)
        return found
