"""Keys on SQLite."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

import msgspec

from waypost.access.keys import Key, Scope
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, from_us_or_none
from waypost.kernel.clock import from_us, to_us

_SQL = load_queries(__package__, "keys.sql")
_scopes = msgspec.json.Decoder(tuple[Scope, ...])


class SqliteKeyStore(SqliteStore):
    async def add(self, key: Key) -> None:
        row = msgspec.structs.asdict(key) | {
            "scopes": msgspec.json.encode(key.scopes).decode(),
            "created_at": to_us(key.created_at),
            "revoked_at": to_us(key.revoked_at) if key.revoked_at else None,
        }
        await self._database.write(lambda tx: tx.execute(_SQL["add"], row).rowcount)

    async def list(self) -> Sequence[Key]:
        return [_to_key(row) for row in await self._database.read(lambda c: c.execute(_SQL["list"]).fetchall())]

    async def find(self, id: str) -> Key | None:  # noqa: A002 - as the port has it
        row = await self._database.read(lambda c: c.execute(_SQL["find"], {"id": id}).fetchone())
        return _to_key(row) if row else None

    async def revoke(self, id: str, at: datetime) -> bool:  # noqa: A002 - as the port has it
        row = {"id": id, "at": to_us(at)}
        return await self._database.write(lambda tx: tx.execute(_SQL["revoke"], row).rowcount) == 1


def _to_key(row: sqlite3.Row) -> Key:
    known = {name: row[name] for name in Key.__struct_fields__}
    times = {"created_at": from_us(row["created_at"]), "revoked_at": from_us_or_none(row["revoked_at"])}
    return Key(**{**known, **times, "scopes": _scopes.decode(row["scopes"])})
