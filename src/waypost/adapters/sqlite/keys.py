"""Keys on SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.access.keys import Key, Scope
from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteStore, from_us_or_none
from waypost.kernel.clock import to_us

_SQL = load_queries(__package__, "keys.sql")
_scopes = msgspec.json.Decoder(tuple[Scope, ...])
_TIMES = ("created_at", "revoked_at", "expires_at", "used_at", "old_until")


class SqliteKeyStore(SqliteStore):
    async def add(self, key: Key) -> None:
        await self._database.write(lambda tx: tx.execute(_SQL["add"], _to_row(key)).rowcount)

    async def list(self) -> Sequence[Key]:
        return [_to_key(row) for row in await self._database.read(lambda c: c.execute(_SQL["list"]).fetchall())]

    async def find(self, id: str) -> Key | None:  # noqa: A002 - as the port has it
        row = await self._database.read(lambda c: c.execute(_SQL["find"], {"id": id}).fetchone())
        return _to_key(row) if row else None

    async def revoke(self, id: str, at: datetime) -> bool:  # noqa: A002 - as the port has it
        row = {"id": id, "at": to_us(at)}
        return await self._database.write(lambda tx: tx.execute(_SQL["revoke"], row).rowcount) == 1

    async def replace_secret(self, key: Key, was: bytes) -> bool:
        row = _to_row(key) | {"was": was}
        return await self._database.write(lambda tx: tx.execute(_SQL["replace_secret"], row).rowcount) == 1

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        rows = [{"id": key, "at": to_us(at)} for key, at in uses.items()]
        await self._database.write(lambda tx: tx.executemany(_SQL["note_use"], rows).rowcount)


def _to_row(key: Key) -> dict[str, Any]:
    times = {name: to_us(at) if (at := getattr(key, name)) else None for name in _TIMES}
    return msgspec.structs.asdict(key) | times | {"scopes": msgspec.json.encode(key.scopes).decode()}


def _to_key(row: sqlite3.Row) -> Key:
    known = {name: row[name] for name in Key.__struct_fields__}
    times = {name: from_us_or_none(row[name]) for name in _TIMES}
    return Key(**{**known, **times, "scopes": _scopes.decode(row["scopes"])})
