"""Is this machine fit to run Waypost? One question per function, each with advice for when the answer is no."""

import platform
import resource
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from waypost.kernel.errors import WaypostError
from waypost.roles.kit.file_limit import OTHER_FILES
from waypost.roles.kit.finding import Finding
from waypost.roles.kit.http_server import listen
from waypost.settings import Settings

_PYTHON = (3, 11)
_SQLITE = (3, 37, 0)
_FREE_BYTES = 500 * 1024 * 1024
# What a process needs without any crowd of clients.
_FEWEST_FILES = 1024
_SOME_ZONE = "Europe/Berlin"


def check_python() -> Finding:
    return Finding(
        name="Python",
        ok=sys.version_info >= _PYTHON,
        found=platform.python_version(),
        advice="install Python 3.11 or newer",
    )


def check_sqlite() -> Finding:
    return Finding(
        name="SQLite",
        ok=sqlite3.sqlite_version_info >= _SQLITE,
        found=sqlite3.sqlite_version,
        advice="use a Python that was built with SQLite 3.37 or newer",
    )


def check_system() -> Finding:
    return Finding(
        name="system",
        ok=sys.platform in {"linux", "darwin"},
        found=platform.platform(terse=True),
        advice="use Linux (macOS works on best effort)",
    )


def check_time_zones() -> Finding:
    try:
        ZoneInfo.no_cache(_SOME_ZONE)
    except (ZoneInfoNotFoundError, OSError):
        return Finding(name="time zones", ok=False, found=f"{_SOME_ZONE} is missing", advice="pip install tzdata")
    return Finding(name="time zones", ok=True, found="there")


def check_open_files(settings: Settings) -> Finding:
    # The hard limit: what serves raises the other one by itself.
    return judge_open_files(resource.getrlimit(resource.RLIMIT_NOFILE)[1], settings.web.connections + OTHER_FILES)


def judge_open_files(most: int, wanted: int) -> Finding:
    is_unlimited = most == resource.RLIM_INFINITY
    return Finding(
        name="open files",
        ok=is_unlimited or most >= wanted,
        found="unlimited" if is_unlimited else f"{most} at once",
        advice=f"ulimit -n {wanted} (with systemd: LimitNOFILE={wanted}), or fewer listen.connections",
        needed=not is_unlimited and most < _FEWEST_FILES,
    )


def check_folder(folder: Path) -> Finding:
    """Tries to write a real file, in the nearest folder that exists: permissions alone do not say everything."""
    try:
        with tempfile.TemporaryFile(dir=_nearest_existing(folder)):
            return Finding(name="data folder", ok=True, found=str(folder))
    except OSError as error:
        found = f"{folder}: {error.strerror}"
        return Finding(name="data folder", ok=False, found=found, advice="choose another one with --data")


def check_free_space(name: str, folder: Path) -> Finding:
    free = shutil.disk_usage(_nearest_existing(folder)).free
    return Finding(
        name=name,
        ok=free >= _FREE_BYTES,
        found=f"{free // 1024**2:,} MiB",
        advice=f"free some space, 500 MiB at least: du -sh {folder}",
    )


def check_port(settings: Settings) -> Finding:
    host, port = settings.web.host, settings.web.port
    try:
        listen(host, port, moves_on=False).close()
    except WaypostError as error:
        return Finding(
            name="port",
            ok=False,
            found=str(error),
            advice="nothing, unless --port names it: without, Waypost listens on the next free one",
            needed=False,
        )
    return Finding(name="port", ok=True, found=f"{host}:{port} is free")


def check_key(settings: Settings) -> Finding:
    if settings.ocm.key:
        return Finding(name="provider key", ok=True, found="set")
    advice = "set WAYPOST_OCM_KEY to import real places; `waypost up` simulates a provider without it"
    return Finding(name="provider key", ok=False, found="not set", advice=advice, needed=False)


def check_browser() -> Finding:
    found = shutil.which("chromium")
    return Finding(
        name="Chromium",
        ok=found is not None,
        found=found or "not installed",
        advice="nothing: only the tests need it",
        needed=False,
    )


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if path.exists())
