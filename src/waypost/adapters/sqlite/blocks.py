"""Blocks on SQLite."""

import sqlite3
from collections.abc import Sequence

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore
from waypost.kernel.clock import from_us, to_us
from waypost.sharing.blocks.block import MOST_BLOCKS, Block, BlockKind

_SQL = load_queries(__package__, "blocks.sql")


class SqliteBlockStore(SqliteStore):
    async def add(self, block: Block) -> bool:
        row = msgspec.structs.asdict(block) | {"added_at": to_us(block.added_at), "most": MOST_BLOCKS}

        def work(tx: sqlite3.Connection) -> bool:
            if tx.execute(_SQL["is_there"], row).fetchone():
                return True
            added = tx.execute(_SQL["add"], row).rowcount == 1
            if added:
                tx.execute(_SQL["changed"])
            return added

        return await self._database.write(work)

    async def remove(self, kind: BlockKind, value: str) -> bool:
        def work(tx: sqlite3.Connection) -> bool:
            removed = tx.execute(_SQL["remove"], {"kind": kind, "value": value}).rowcount == 1
            if removed:
                tx.execute(_SQL["changed"])
            return removed

        return await self._database.write(work)

    async def list(self) -> Sequence[Block]:
        rows = await self._database.read(lambda c: c.execute(_SQL["list"]).fetchall())
        return [Block(**{**dict(row), "added_at": from_us(row["added_at"])}) for row in rows]

    async def version(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["version"]).fetchone()["version"]))
