"""Blocks on PostgreSQL."""

from collections.abc import Sequence

from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries
from waypost.sharing.blocks.block import MOST_BLOCKS, Block, BlockKind

SQL = load_queries(__package__, "blocks.sql")


class PostgresBlockStore(PostgresStore):
    async def add(self, block: Block) -> bool:
        row = block.kind, block.value, block.added_at, block.added_by
        return bool(await self._database.fetch(SQL["add"], *row, MOST_BLOCKS))

    async def remove(self, kind: BlockKind, value: str) -> bool:
        return bool(await self._database.fetch(SQL["remove"], kind, value))

    async def list(self) -> Sequence[Block]:
        return [Block(**dict(row)) for row in await self._database.fetch(SQL["list"])]

    async def version(self) -> int:
        [row] = await self._database.fetch(SQL["version"])
        return int(row["version"])
