"""Where keys are kept."""

from collections.abc import Mapping, Sequence
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

    async def replace_secret(self, key: Key, was: bytes) -> bool:
        """Keeps the digests and ends of a key that was rotated.

        False when the digest in the store is no longer `was`, or the key was revoked: somebody else was quicker.
        """
        ...

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        """Keeps when keys, by their ids, were last used; a use less than a minute after the one kept is left out."""
        ...
