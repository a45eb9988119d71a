"""Where links and the numbers behind their phrases are kept."""

from typing import Protocol

import msgspec

from waypost.sharing.links.link import Link


class SpaceRecord(msgspec.Struct, frozen=True):
    """A phrase space as the store knows it: its number and its secret key."""

    id: int
    key: bytes


class LinkStore(Protocol):
    async def add(self, link: Link) -> None:
        """Keep a new link. Raises PhraseTaken when a link with the same folded phrase is there."""
        ...

    async def find(self, phrase: str) -> Link | None:
        """The link with this phrase, whatever its case and separators."""
        ...

    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        """The space for a vocabulary; `key` becomes its key if it is new. A space never changes once it exists."""
        ...

    async def reserve(self, space: int, count: int) -> int:
        """Take `count` numbers of a space for good; returns the first. No other caller ever gets them."""
        ...
