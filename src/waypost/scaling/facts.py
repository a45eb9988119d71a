"""Small facts that a store remembers about itself, such as which provider its places come from."""

from typing import Protocol


class Facts(Protocol):
    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...
