"""`make bench-large`: millions of places from one file, again when nothing changed, and again when half of it is gone.

What grows with the size of a source shows here: the memory of the import, its statements, and how long it holds locks.
"""

import argparse
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pymongo import MongoClient

from bench.importing.stores import fresh_store
from bench.importing.systems import plain_environ
from bench.importing.watching import Taken, watch
from bench.jobs.database import Database, durable_postgres
from support.servers.private import private_mongod

_STORES = ("postgres", "sqlite", "mongodb")
_EVERY_SECONDS = 0.05
_SHORT_SECONDS = 0.0005
_SOURCE = """
name = "large"
kind = "files"
paths = ["large.csv"]
licence = { name = "CC0 1.0", attribution = "Nobody: they are invented" }
"""
_LONGEST_NOW = """
select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8 from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and state <> 'idle'
"""


@dataclass(frozen=True)
class Run:
    """`longest` is what nobody else could do anything for, in seconds, and `holds` says what that is."""

    name: str
    taken: Taken
    longest: float
    holds: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.taken.said)
        return found


class Longest:
    """Asks again and again how long something has lasted, in a thread of its own, and keeps the most."""

    def __init__(self, look: Callable[[], float]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seconds = 0.0

    @contextmanager
    def kept(self) -> Iterator["Longest"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._over.set()
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            self.seconds = max(self.seconds, self._look())


def _write(file: Path, places: int, *, every: int = 1) -> None:
    """Each place is at a point of its own; with `every` 2, the second half of them is gone."""
    with file.open("w", encoding="utf-8") as lines:
        lines.write("id,name,lat,lon,country\n")
        for number in range(0, places, every):
            lat, lon = (number * 7919 % 1_200_000) / 10_000 - 60, (number * 104_729 % 3_400_000) / 10_000 - 170
            lines.write(f"{number},Place {number},{lat:.4f},{lon:.4f},DE\n")


def _of_postgres(database: Database) -> Callable[[], float]:
    return lambda: float(database.value(_LONGEST_NOW))


def _of_sqlite(path: Path) -> Callable[[], float]:
    """SQLite's own waiting would sleep through the moments in which the lock is free."""

    def look() -> float:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
            began = time.monotonic()
            while True:
                try:
                    connection.execute("begin immediate")
                except sqlite3.OperationalError:
                    time.sleep(_SHORT_SECONDS)
                else:
                    connection.execute("rollback")
                    return time.monotonic() - began

    return look


def _of_mongodb(client: MongoClient[dict[str, Any]]) -> Callable[[], float]:
    def look() -> float:
        found = client.admin.aggregate([{"$currentOp": {"allUsers": True, "idleSessions": True}}])
        return max((each.get("transaction", {}).get("timeOpenMicros", 0) / 1e6 for each in found), default=0.0)

    return look


@contextmanager
def _store(name: str) -> Iterator[tuple[str, Path, Callable[[], float], str]]:
    """Its address, a folder, how long somebody holds it now, and in which words."""
    with ExitStack() as stack:
        if name == "mongodb":
            url, _ = stack.enter_context(private_mongod())
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="waypost-bench-")))
            client = stack.enter_context(MongoClient[dict[str, Any]](url))
            yield url, folder, _of_mongodb(client), "transaction"
            return
        server = stack.enter_context(durable_postgres()) if name == "postgres" else None
        store = stack.enter_context(fresh_store(server))
        if store.database:
            yield store.url, store.folder, _of_postgres(store.database), "transaction"
        else:
            yield store.url, store.folder, _of_sqlite(store.folder / "places.db"), "write lock"


def _runs(name: str, places: int) -> Iterator[Run]:
    with _store(name) as (url, folder, look, holds):
        (folder / "large.toml").write_text(_SOURCE, encoding="utf-8")
        env = plain_environ() | {"WAYPOST_STORE": url, "WAYPOST_DATA": str(folder), "WAYPOST_LOG_LEVEL": "warning"}
        waypost = [sys.executable, "-m", "waypost"]
        watch([*waypost, "db", "migrate"], folder=folder, env=env)
        run = [*waypost, "import", "run", "--source", "large.toml", "--processes", "1", "--json"]
        for title, every, more in (
            ("first import", 1, []),
            ("refresh, nothing changed", 1, ["--refresh"]),
            ("refresh, half of it gone", 2, ["--refresh", "--allow-mass-delete"]),
        ):
            _write(folder / "large.csv", places, every=every)
            with Longest(look).kept() as longest:
                taken = watch([*run, *more], folder=folder, env=env)
            yield Run(f"{name}, {title}", taken, longest.seconds, holds)


def _table(runs: Sequence[Run]) -> str:
    lines = [
        "| store and import | seconds | added | unchanged | removed | peak, MiB | longest, s | of |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in runs:
        report = run.report
        counts = " | ".join(f"{report[each]:,}" for each in ("added", "unchanged", "removed"))
        figures = f"{run.taken.peak:.0f} | {run.longest:.2f} | {run.holds}"
        lines.append(f"| {run.name} | {run.taken.wall_seconds:,.0f} | {counts} | {figures} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(prog="bench.importing.large", description=__doc__)
    options.add_argument("--places", type=int, default=5_000_000, help="in the file (default: %(default)s)")
    options.add_argument("--store", choices=[*_STORES, "all"], default="all")
    chosen = options.parse_args()
    found: list[Run] = []
    for name in _STORES if chosen.store == "all" else (chosen.store,):
        for run in _runs(name, chosen.places):
            found.append(run)
            print(_table([run]).splitlines()[-1], file=sys.stderr, flush=True)
    print(_table(found))


if __name__ == "__main__":
    main()
