"""Versioned changes of the schema, applied in order, each in a transaction of its own."""

from functools import cache
from typing import Any

from waypost.adapters.errors import StoreTooOld
from waypost.adapters.migrations import Applied, Migration, load_migrations, missing, version_of

_OLDEST_CODE = {1: 1}
# "waypost" in ASCII: what everybody who changes the schema agrees to lock.
_LOCK = int.from_bytes(b"waypost")
_PATIENCE = 600.0
_ANOTHER = "use another, empty database"


@cache
def known() -> tuple[Migration, ...]:
    return load_migrations(__package__, _OLDEST_CODE)


async def migrate(connection: Any) -> list[Migration]:
    """Bring the schema up to date; safe when many processes do it at once. Returns what was applied."""
    applied = []
    _, wanted = await pending(connection)
    for migration in wanted:
        async with connection.transaction():
            # Held to the end of the transaction, so that it also works behind a pooler that shares connections.
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK, timeout=_PATIENCE)
            # Another process may have done it while we waited for the lock.
            if migration in (await pending(connection))[1]:
                await _apply(connection, migration)
                applied.append(migration)
    return applied


async def pending(connection: Any) -> tuple[int, list[Migration]]:
    """The schema's version, and what `migrate` would apply."""
    applied = await _applied(connection)
    return version_of(applied), missing(known(), applied, _ANOTHER)


async def refuse_unless_current(connection: Any) -> None:
    """Roles do not change a schema that others share: a person decides when."""
    version, wanted = await pending(connection)
    if wanted:
        raise StoreTooOld(
            f"the store's schema is at version {version} and this Waypost needs {wanted[-1].version};"
            " `waypost db migrate` brings it up to date",
            next_step="run `waypost db migrate`, then start again",
        )


async def _apply(connection: Any, migration: Migration) -> None:
    await connection.execute(
        "create table if not exists migrations"
        " (version integer primary key, name text not null, oldest_code integer not null, digest text not null,"
        " applied_at timestamptz not null default now())"
    )
    await connection.execute(migration.sql, timeout=_PATIENCE)
    await connection.execute(
        "insert into migrations (version, name, oldest_code, digest) values ($1, $2, $3, $4)",
        migration.version,
        migration.name,
        migration.oldest_code,
        migration.digest,
    )


async def _applied(connection: Any) -> list[Applied]:
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return []
    # As JSON, because a store from before the first schema was settled has no such column.
    rows = await connection.fetch(
        "select version, oldest_code, coalesce(to_json(migrations) ->> 'digest', '') as digest from migrations"
    )
    return [Applied(*row) for row in rows]
