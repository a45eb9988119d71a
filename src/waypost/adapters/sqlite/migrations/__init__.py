"""Versioned changes of the schema, applied in order, each in a transaction of its own."""

import sqlite3
import time
from functools import cache

from waypost.adapters.errors import StoreTooNew
from waypost.adapters.migrations import Migration, load_migrations

_OLDEST_CODE = {1: 1}


@cache
def known() -> tuple[Migration, ...]:
    return load_migrations(__package__, _OLDEST_CODE)


def migrate(connection: sqlite3.Connection) -> list[Migration]:
    """Bring the schema up to date; safe when many processes do it at once. Returns what was applied."""
    applied = []
    for migration in known():
        if migration.version <= _version(connection):
            continue
        connection.execute("begin immediate")
        try:
            # Another process may have done it while we waited for the lock.
            if migration.version > _version(connection):
                _apply(connection, migration)
                applied.append(migration)
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise
    _refuse_newer(connection)
    return applied


def pending(connection: sqlite3.Connection) -> tuple[int, list[Migration]]:
    """The schema's version, and what `migrate` would apply."""
    version = _version(connection)
    _refuse_newer(connection)
    return version, [migration for migration in known() if migration.version > version]


def _apply(connection: sqlite3.Connection, migration: Migration) -> None:
    connection.execute(
        "create table if not exists migrations"
        " (version integer primary key, name text not null, oldest_code integer not null, applied_at integer not null)"
        " strict"
    )
    for statement in _statements(migration.sql):
        connection.execute(statement)
    connection.execute(
        "insert into migrations values (?, ?, ?, ?)",
        (migration.version, migration.name, migration.oldest_code, time.time_ns() // 1000),
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


def _version(connection: sqlite3.Connection) -> int:
    return (
        int(connection.execute("select coalesce(max(version), 0) from migrations").fetchone()[0])
        if _exists(connection)
        else 0
    )


def _refuse_newer(connection: sqlite3.Connection) -> None:
    newest = known()[-1].version
    oldest_code = (
        connection.execute("select max(oldest_code) from migrations").fetchone()[0] if _exists(connection) else 0
    )
    if oldest_code > newest:
        raise StoreTooNew(
            f"the store was changed by a newer Waypost (it needs schema {oldest_code}, this one knows {newest})",
            next_step="install the newer release, or use another --data folder",
        )


def _exists(connection: sqlite3.Connection) -> bool:
    found = connection.execute("select 1 from sqlite_schema where type = 'table' and name = 'migrations'").fetchone()
    return found is not None
