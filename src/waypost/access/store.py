"""Where keys are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from waypost.access.keys import Key


class KeyStore(Protocol):
    """Keys stay after they were revoked: links say which one they were made with."""

    async def add(self, key: Key) -> None: ...

    async def list(self) -> Sequence[Key]:
        """All keys, also revoked ones, oldest first."""
        ...

    async def find(self, id: str) -> Key | None: ...  # noqa: A002 - it is what it is

    async def revoke(self, id: str, at: datetime) -> bool:  # noqa: A002 - it is what it is
        """False when no key has this id. One that was revoked before stays as it is."""
        ...
