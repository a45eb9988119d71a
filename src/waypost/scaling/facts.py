"""Small facts that a store remembers about itself, such as which provider its places come from."""

from typing import Protocol


class Facts(Protocol):
    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...

    async def replace(self, name: str, old: str | None, new: str) -> bool:
        """Set it if it still is `old`, where None is for a fact not known yet; returns whether it was."""
        ...
