"""One use of a link, and where visits are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec


class Visit(msgspec.Struct, frozen=True):
    """The id is made where the visit happened: shipped twice, it counts once."""

    id: str
    link_id: str
    at: datetime


class VisitStore(Protocol):
    async def append(self, visits: Sequence[Visit]) -> None:
        """Keep visits; those that are there already change nothing."""
        ...

    async def count(self, link_id: str) -> int: ...
