"""Where generations are pulled from: the port, and what can go wrong there."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from waypost.kernel.errors import AskedWrongly, NotFound, TerminalError, TransientError


class BadOrigin(AskedWrongly):
    """Snapshots cannot be pulled from this address."""


class OriginAway(TransientError):
    """The server with the snapshots does not answer, fails, or is too slow."""


class OriginBroken(TerminalError):
    """What the server has is not a usable snapshot: damaged, incomplete, or dangerous."""


class NotAtOrigin(NotFound):
    """The server has no snapshot, or not this one."""


class Arriving(msgspec.Struct, frozen=True):
    """A file on its way, from byte `start` on: an origin that cannot begin in the middle begins at 0.

    `size` is that of the whole file, if the origin tells; `tag` is the origin's name for exactly these bytes.
    """

    start: int
    size: int | None
    tag: str | None
    chunks: AsyncGenerator[bytes, None]


class Origin(Protocol):
    """A folder of snapshots elsewhere. Every call may raise the errors above, and ends in bounded time."""

    @property
    def url(self) -> str:
        """The address, for people, without secrets."""
        ...

    async def read(self, path: str, most: int) -> bytes:
        """Reads a small file. Raises OriginBroken if it has more than `most` bytes."""
        ...

    def open(self, path: str, start: int, tag: str | None) -> AbstractAsyncContextManager[Arriving]:
        """Opens a file from byte `start` on, or from its beginning if its tag is a different one by now."""
        ...
