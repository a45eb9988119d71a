"""Versioned changes of the schema, applied in order, each in a transaction of its own."""

import sqlite3
import time
from functools import cache

from waypost.adapters.migrations import Applied, Migration, load_migrations, missing, version_of

_OLDEST_CODE = {1: 1}
_ANOTHER = "use another --data folder"


@cache
def known() -> tuple[Migration, ...]:
    return load_migrations(__package__, _OLDEST_CODE)


def migrate(connection: sqlite3.Connection) -> list[Migration]:
    """Brings the schema up to date; safe when many processes do it at once. Returns what was applied."""
    applied = []
    for migration in pending(connection)[1]:
        connection.execute("begin immediate")
        try:
            # Another process may have done it while we waited for the lock.
            if migration in pending(connection)[1]:
                _apply(connection, migration)
                applied.append(migration)
            connection.execute("commit")
        except BaseException:
            # A full disk ends the transaction by itself.
            if connection.in_transaction:
                connection.execute("rollback")
            raise
    return applied


def pending(connection: sqlite3.Connection) -> tuple[int, list[Migration]]:
    """The schema's version, and what `migrate` would apply."""
    applied = _applied(connection)
    return version_of(applied), missing(known(), applied, _ANOTHER)


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute(
        "create table if not exists migrations"
        " (version integer primary key, name text not null, oldest_code integer not null, digest text not null,"
        " applied_at integer not null) strict"
    )
    for statement in _statements(migration.sql):
        connection.execute(statement)
    connection.execute(
        "insert into migrations values (?, ?, ?, ?, ?)",
        (migration.version, migration.name, migration.oldest_code, migration.digest, time.time_ns() // 1000),
    )


def _statements(script: str) -> list[str]:
    """The script's statements one by one: `executescript` would end the transaction around them."""
    statements, text = [], ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            statements.append(text)
            text = ""
    return statements


def _applied(connection: sqlite3.Connection) -> list[Applied]:
    columns = {name for (name,) in connection.execute("select name from pragma_table_info('migrations')")}
    if not columns:
        return []
    # A store from before the first schema was settled has no digests.
    digest = "digest" if "digest" in columns else "''"
    rows = connection.execute(f"select version, oldest_code, {digest} from migrations")  # noqa: S608 - one of two above
    return [Applied(*row) for row in rows]
