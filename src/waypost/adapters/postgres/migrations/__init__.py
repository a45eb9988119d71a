"""Versioned changes of the schema, applied in order, each while the release before it is at work."""

from functools import cache
from typing import Any

from waypost.adapters.errors import StoreTooOld
from waypost.adapters.migrations import Applied, Migration, load_migrations, missing, version_of
from waypost.adapters.postgres.migrations.steps import take

_OLDEST_CODE = {1: 1}
_TABLE = """
create table if not exists migrations (
  version integer primary key,
  name text not null,
  oldest_code integer not null,
  digest text not null,
  applied_at timestamptz not null default now()
)
"""
_ANOTHER = "use another, empty database"


@cache
def known() -> tuple[Migration, ...]:
    return load_migrations(__package__, _OLDEST_CODE)


async def migrate(connection: Any) -> list[Migration]:
    """Brings the schema up to date, while an older release is at work; safe when many processes do it at once.

    Returns what was applied.
    """
    _, wanted = await pending(connection)
    return [migration for migration in wanted if await take(connection, migration.sql, _Record(migration))]


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


class _Record:
    def __init__(self, migration: Migration) -> None:
        self._migration = migration

    async def is_written(self, connection: Any) -> bool:
        return self._migration not in (await pending(connection))[1]

    async def write(self, connection: Any) -> None:
        made = self._migration
        await connection.execute(_TABLE)
        await connection.execute(
            "insert into migrations (version, name, oldest_code, digest) values ($1, $2, $3, $4)",
            *(made.version, made.name, made.oldest_code, made.digest),
        )


async def _applied(connection: Any) -> list[Applied]:
    if await connection.fetchval("select to_regclass('migrations')") is None:
        return []
    # As JSON, because a store from before the first schema was settled has no such column.
    rows = await connection.fetch(
        "select version, oldest_code, coalesce(to_json(migrations) ->> 'digest', '') as digest from migrations"
    )
    return [Applied(*row) for row in rows]
