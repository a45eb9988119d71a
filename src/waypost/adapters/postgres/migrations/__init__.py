"""Versioned changes of the schema, applied in order, each in a transaction of its own."""

from functools import cache
from typing import Any

from waypost.adapters.errors import StoreTooNew, StoreTooOld
from waypost.adapters.migrations import Migration, load_migrations

_OLDEST_CODE = {1: 1}
# "waypost" in ASCII: what everybody who changes the schema agrees to lock.
_LOCK = int.from_bytes(b"waypost")
_PATIENCE = 600.0


@cache
def known() -> tuple[Migration, ...]:
    return load_migrations(__package__, _OLDEST_CODE)


async def migrate(connection: Any) -> list[Migration]:
    """Bring the schema up to date; safe when many processes do it at once. Returns what was applied."""
    applied = []
    for migration in known():
        async with connection.transaction():
            # Held to the end of the transaction, so that it also works behind a pooler that shares connections.
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK, timeout=_PATIENCE)
            if migration.version > await _version(connection):
                await _apply(connection, migration)
                applied.append(migration)
    await _refuse_newer(connection)
    return applied


async def pending(connection: Any) -> tuple[int, list[Migration]]:
    """The schema's version, and what `migrate` would apply."""
    version = await _version(connection)
    await _refuse_newer(connection)
    return version, [migration for migration in known() if migration.version > version]


async def refuse_unless_current(connection: Any) -> None:
    """Roles do not change a schema that others share: a person decides when."""
    version, missing = await pending(connection)
    if missing:
        raise StoreTooOld(
            f"the store's schema is at version {version} and this Waypost needs {missing[-1].version};"
            " `waypost db migrate` brings it up to date",
            next_step="run `waypost db migrate`, then start again",
        )


async def _apply(connection: Any, migration: Migration) -> None:
    await connection.execute(
        "create table if not exists migrations"
        " (version integer primary key, name text not null, oldest_code integer not null,"
        " applied_at timestamptz not null default now())"
    )
    await connection.execute(migration.sql, timeout=_PATIENCE)
    await connection.execute(
        "insert into migrations (version, name, oldest_code) values ($1, $2, $3)",
        migration.version,
        migration.name,
        migration.oldest_code,
    )


async def _version(connection: Any) -> int:
    return await _newest(connection, "version")


async def _refuse_newer(connection: Any) -> None:
    newest, oldest_code = known()[-1].version, await _newest(connection, "oldest_code")
    if oldest_code > newest:
        raise StoreTooNew(
            f"the store was changed by a newer Waypost (it needs schema {oldest_code}, this one knows {newest})",
            next_step="install the newer release, or use another database",
        )


async def _newest(connection: Any, column: str) -> int:
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return 0
    found = await connection.fetchval(f"select max({column}) from migrations")  # noqa: S608 - one of two names above
    return int(found or 0)
