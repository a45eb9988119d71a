"""Keys on PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from waypost.access.keys import Key, Scope
from waypost.adapters.postgres.database import PostgresStore
from waypost.adapters.queries import load_queries

SQL = load_queries(__package__, "keys.sql")
_scopes = msgspec.json.Decoder(tuple[Scope, ...])


class PostgresKeyStore(PostgresStore):
    async def add(self, key: Key) -> None:
        row = msgspec.structs.asdict(key) | {"scopes": msgspec.json.encode(key.scopes).decode()}
        await self._database.fetch(SQL["add"], *row.values())

    async def list(self) -> Sequence[Key]:
        return [_to_key(row) for row in await self._database.fetch(SQL["list"])]

    async def find(self, id: str) -> Key | None:  # noqa: A002 - as the port has it
        rows = await self._database.fetch(SQL["find"], id)
        return _to_key(rows[0]) if rows else None

    async def revoke(self, id: str, at: datetime) -> bool:  # noqa: A002 - as the port has it
        return bool(await self._database.fetch(SQL["revoke"], id, at))

    async def replace_secret(self, key: Key, was: bytes) -> bool:
        changed = (key.digest, key.expires_at, key.old_digest, key.old_until)
        return bool(await self._database.fetch(SQL["replace_secret"], key.id, was, *changed))

    async def note_uses(self, uses: Mapping[str, datetime]) -> None:
        await self._database.fetch(SQL["note_uses"], [*uses], [*uses.values()])


def _to_key(row: Any) -> Key:
    known = {name: row[name] for name in Key.__struct_fields__}
    return Key(**{**known, "scopes": _scopes.decode(row["scopes"])})
