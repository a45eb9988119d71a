"""What `waypost doctor` looks at: is this machine fit to run Waypost, and are the configured stores fit to be used?

One question per function, each with advice for when the answer is no.
"""

import asyncio
import platform
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from waypost.access.configured_keys import ConfiguredKeys
from waypost.bootstrap.schema import ClockDifference, StoreState, inspect_store
from waypost.kernel.configuration import redact_url
from waypost.kernel.errors import StoreTrouble, WaypostError
from waypost.roles.kit.file_limit import OTHER_FILES
from waypost.roles.kit.http_server import listen
from waypost.settings import Settings, StorageSettings

_PYTHON = (3, 11)
_SQLITE = (3, 37, 0)
_FREE_BYTES = 500 * 1024 * 1024
# What a process needs without any crowd of clients.
_FEWEST_FILES = 1024
_SOME_ZONE = "Europe/Berlin"
# What we compare with the store's clock (what a day or an hour is, when a link ends) bears no more.
_MOST_SECONDS = 5.0
_KEEPS_ALL = "noeviction"
_NAMES = {"store": "store", "jobs": "jobs", "analytics": "analytics", "redis": "Redis"}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`advice` is the next command, or what else to do; what is not `needed` is a hint."""

    name: str
    ok: bool
    found: str
    advice: str | None = None
    needed: bool = True


def trouble(name: str, error: Exception, advice: str) -> Finding:
    """What went wrong while `name` was checked. `advice` is for a store that is away, because it names the setting, and
    for errors that have none of their own.
    """
    if isinstance(error, StoreTrouble):
        found = str(error)
    elif isinstance(error, WaypostError):
        found, advice = str(error), error.next_step or advice
    elif isinstance(error, OSError):
        found = error.strerror or str(error)
    else:
        found = f"a defect in Waypost: {type(error).__name__}: {error}"
    return Finding(name=name, ok=False, found=redact_url(found), advice=redact_url(advice))


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


def check_configured_keys(settings: Settings) -> Finding:
    """Raises what is wrong with them."""
    return Finding(name="configured keys", ok=True, found=f"{len(ConfiguredKeys(settings.keys))} can be used")


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


def configured_stores(storage: StorageSettings) -> dict[str, str]:
    """The address of each store that is in use, by the name of its setting."""
    urls = {"store": storage.store_url, "jobs": storage.jobs, "analytics": storage.analytics, "redis": storage.redis}
    return {setting: url for setting, url in urls.items() if url}


def store_name(setting: str) -> str:
    return _NAMES[setting]


def store_advice(setting: str) -> str:
    return f"see that it runs and can be reached from here, and WAYPOST_{setting.upper()}: waypost config show"


def check_store(setting: str, url: str) -> list[Finding]:
    return list(judge_store(store_name(setting), asyncio.run(inspect_store(url, setting))))


def judge_store(name: str, state: StoreState) -> Iterator[Finding]:
    yield judge_schema(name, state)
    if state.clock:
        yield judge_clock(name, state.clock)
    if state.eviction != ():
        yield judge_eviction(name, state.eviction)


def judge_schema(name: str, state: StoreState) -> Finding:
    found = "answers" if state.schema is None else f"schema {state.schema}" if state.schema else "not made yet"
    if state.schema and state.pending:
        found += f", without {', '.join(state.pending)}"
    # A file's schema is brought up to date by the next process that opens it; on a server a person does that.
    ok = state.migrates_itself or not state.pending
    return Finding(name=name, ok=ok, found=found, advice="waypost db migrate")


def judge_clock(name: str, clock: ClockDifference) -> Finding:
    return Finding(
        name=f"clock of the {name}",
        ok=abs(clock.ahead) - clock.unsure <= _MOST_SECONDS,
        found=f"{abs(clock.ahead):.1f} s {'ahead of' if clock.ahead > 0 else 'behind'} ours",
        advice="set both clocks by NTP: timedatectl set-ntp true",
    )


def judge_eviction(name: str, policies: tuple[str, ...] | None) -> Finding:
    named = f"eviction at the {name}"
    if policies is None:
        advice = "let this user use INFO, or see to maxmemory-policy noeviction yourself"
        return Finding(name=named, ok=False, found="we may not ask", advice=advice, needed=False)
    if policies == (_KEEPS_ALL,):
        return Finding(name=named, ok=True, found=_KEEPS_ALL)
    found = f"{', '.join(policies)}: when its memory is full, it forgets budgets and jobs"
    advice = "on its server: redis-cli config set maxmemory-policy noeviction"
    return Finding(name=named, ok=False, found=found, advice=advice)
