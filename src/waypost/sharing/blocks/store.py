"""Where blocks are kept."""

from collections.abc import Sequence
from typing import Protocol

from waypost.sharing.blocks.block import Block, BlockKind


class BlockStore(Protocol):
    async def add(self, block: Block) -> bool:
        """Keep a block; one that is there already stays as it is. False when MOST_BLOCKS are there."""
        ...

    async def remove(self, kind: BlockKind, value: str) -> bool:
        """False when it was not there."""
        ...

    async def list(self) -> Sequence[Block]:
        """All blocks, by kind and value."""
        ...

    async def version(self) -> int:
        """A number that each change makes another: cheap to ask for, again and again."""
        ...
