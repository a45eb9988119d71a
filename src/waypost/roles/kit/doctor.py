"""Is this machine fit to run Waypost? One question per function, each with advice for when the answer is no."""

import asyncio
import platform
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import msgspec

from waypost.bootstrap.schema import schema_status
from waypost.kernel.errors import WaypostError
from waypost.roles.kit.http_server import listen
from waypost.settings import Settings

_PYTHON = (3, 11)
_SQLITE = (3, 37, 0)
_FREE_BYTES = 500 * 1024 * 1024


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ok: bool
    found: str
    advice: str | None = None
    needed: bool = True


def examine(settings: Settings) -> list[Finding]:
    return [
        _python(),
        _sqlite(),
        _system(),
        _data_folder(settings.storage.folder),
        _disk(settings.storage.folder),
        _store(settings),
        _port(settings),
        _key(settings),
        _browser(),
    ]


def _python() -> Finding:
    return Finding(
        name="Python",
        ok=sys.version_info >= _PYTHON,
        found=platform.python_version(),
        advice="install Python 3.11 or newer",
    )


def _sqlite() -> Finding:
    return Finding(
        name="SQLite",
        ok=sqlite3.sqlite_version_info >= _SQLITE,
        found=sqlite3.sqlite_version,
        advice="use a Python that was built with SQLite 3.37 or newer",
    )


def _system() -> Finding:
    supported = sys.platform in {"linux", "darwin"}
    return Finding(
        name="system",
        ok=supported,
        found=platform.platform(terse=True),
        advice="use Linux (macOS works on best effort)",
    )


def _data_folder(folder: Path) -> Finding:
    """Tries to write a real file, in the nearest folder that exists: permissions alone do not say everything."""
    existing = _nearest_existing(folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Finding(name="data folder", ok=True, found=str(folder))
    except OSError as error:
        return Finding(
            name="data folder", ok=False, found=f"{folder}: {error.strerror}", advice="choose another one with --data"
        )


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(_nearest_existing(folder)).free
    return Finding(
        name="free disk space",
        ok=free >= _FREE_BYTES,
        found=f"{free // 1024**2:,} MiB",
        advice="free some space: 500 MiB at least",
    )


def _store(settings: Settings) -> Finding:
    try:
        status = asyncio.run(schema_status(settings))
    except WaypostError as error:
        return Finding(name="store", ok=False, found=str(error), advice=error.next_step)
    return Finding(
        name="store",
        # A file's schema is brought up to date by the next process that opens it; on a server a person does that.
        ok=not (status.pending and settings.storage.on_server),
        found=f"schema {status.version}" if status.version else "not made yet",
        advice="bring its schema up to date: waypost db migrate",
    )


def _port(settings: Settings) -> Finding:
    host, port = settings.web.host, settings.web.port
    try:
        listen(host, port, moves_on=False).close()
    except WaypostError as error:
        return Finding(
            name="port",
            ok=False,
            found=str(error),
            advice="Waypost will listen on the next free one, unless --port says otherwise",
            needed=False,
        )
    return Finding(name="port", ok=True, found=f"{host}:{port} is free")


def _key(settings: Settings) -> Finding:
    if settings.ocm.key:
        return Finding(name="provider key", ok=True, found="set")
    advice = "set WAYPOST_OCM_KEY to import real places; `waypost up` simulates a provider without it"
    return Finding(name="provider key", ok=False, found="not set", advice=advice, needed=False)


def _browser() -> Finding:
    found = shutil.which("chromium")
    return Finding(
        name="Chromium",
        ok=found is not None,
        found=found or "not installed",
        advice="only the tests need it",
        needed=False,
    )


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
