"""Where the spaces that phrases are drawn from are kept."""

from typing import Protocol

import msgspec


class SpaceRecord(msgspec.Struct, frozen=True):
    """A phrase space as the store knows it: its number and its secret key."""

    id: int
    key: bytes


class SpaceStore(Protocol):
    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        """Returns the space for a vocabulary; a new one gets `key` as its key. A space never changes once it exists."""

    async def reserve(self, space: int, count: int, most: int) -> range:
        """Take up to `count` numbers of a space for good, all below `most`; empty when none are left.

        No other caller ever gets them.
        """
