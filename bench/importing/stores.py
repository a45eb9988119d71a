"""Where places go: a database on the private PostgreSQL or a file of SQLite, fresh for each import."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.jobs.cpu import cpu_seconds, family
from bench.jobs.database import Database, Server

_numbers = count(1)
_POLL_SECONDS = 0.01
_WRITTEN = """
select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables
where relname like 'places%'
"""
_OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
"""


@dataclass(frozen=True)
class Store:
    """`folder` is for whatever else a system keeps, and is as fresh as the store."""

    url: str
    folder: Path
    database: Database | None = None

    def settle(self) -> None:
        """What the server does by itself within a minute or so; but then it would strike some and spare others."""
        if self.database:
            self.database.value("vacuum (analyze)")
            self.database.value("checkpoint")

    def rows_written(self) -> int | None:
        """So far, in tables of places, those on the way there included. SQLite does not count."""
        if not self.database:
            return None
        # Each connection adds what it has counted when it ends.
        while self.database.value(_OTHERS):
            time.sleep(_POLL_SECONDS)
        return int(self.database.value(_WRITTEN))

    def cpu_seconds(self) -> float:
        """Of the server."""
        return _server_cpu(self.database.server_pid) if self.database else 0.0


def _server_cpu(pid: int) -> float:
    """Those that have ended are counted by the one that started them."""
    of_the_ended = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[13:15]
    return cpu_seconds(family(pid)) + sum(map(int, of_the_ended)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def fresh_store(server: Server | None) -> Iterator[Store]:
    """On SQLite without a server."""
    with TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if server is None:
            yield Store(f"sqlite:///{folder / 'places.db'}", folder)
            return
        database = server.new_database(f"import_{next(_numbers)}")
        try:
            yield Store(database.client_url, folder, database)
        finally:
            replace(database, name="postgres").value(f"drop database {database.name} with (force)")
