"""Driver errors become ours at this border."""

import sqlite3
from pathlib import Path

from waypost.adapters.errors import StoreBusy, StoreFull
from waypost.kernel.errors import TerminalError, WaypostError


class StoreBroken(TerminalError):
    """The database file is damaged, or is not a database."""

    told_outside = "the store is damaged"


class StoreNotWritable(TerminalError):
    """The database cannot be opened or written where it is."""

    told_outside = "the store cannot be written"


_KINDS: dict[int, type[WaypostError]] = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_CORRUPT: StoreBroken,
    sqlite3.SQLITE_NOTADB: StoreBroken,
    sqlite3.SQLITE_READONLY: StoreNotWritable,
    sqlite3.SQLITE_CANTOPEN: StoreNotWritable,
    sqlite3.SQLITE_PERM: StoreNotWritable,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_IOERR: StoreFull,
}


def primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def translate(error: sqlite3.Error, path: Path) -> WaypostError | None:
    """Our error for one of the driver's, or None for a defect of ours, which should be seen as one."""
    kind = _KINDS.get(primary_code(error))
    if kind is None:
        return None
    return kind(f"the database {path}: {error}", next_step=_next_step(kind, path))


def _next_step(kind: type[WaypostError], path: Path) -> str | None:
    if kind is StoreBroken:
        return f"restore {path} from a copy, or move it away and import again: mv '{path}' '{path}.broken'"
    if kind is StoreNotWritable:
        return f"make {path.parent} writable for this user, or choose another folder with --data"
    if kind is StoreFull:
        return f"free some space where {path} is, then start again"
    return None
