"""Where the name of a target's host leads, for those who want to know before they make a link to it."""

from collections.abc import Set as AbstractSet
from typing import Protocol

from waypost.kernel.errors import TransientError
from waypost.sharing.links.hosts import Address


class LookupFailed(TransientError):
    """The name of a target's host could not be looked up in time."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the name {name} could not be looked up just now; try again, or turn links.resolve off")


class NameLookup(Protocol):
    async def addresses(self, name: str) -> AbstractSet[Address]:
        """All addresses of a name; none if there is no such name. Raises LookupFailed when that cannot be told."""
        ...
