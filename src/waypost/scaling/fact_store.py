"""Small facts that a store remembers about itself, such as which provider its places come from."""

from typing import Protocol


class Facts(Protocol):
    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        """Sets a fact if it is still `old`, which is None for a fact not known yet; returns whether it was."""
