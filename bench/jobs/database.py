"""A private PostgreSQL with durable settings, and databases on it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg

from bench.jobs.cpu import cpu_seconds, family
from support.servers import postgres
from support.servers.private import PrivateServer
from support.servers.sharing import free_port

# Tests gain by not waiting for the disk; a queue that people trust with their jobs does wait.
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "shared_preload_libraries": "pg_stat_statements",
}
_STATEMENTS = """
select coalesce(sum(calls), 0)::bigint
from pg_stat_statements join pg_roles on pg_roles.oid = userid
where rolname = 'worker' and dbid = (select oid from pg_database where datname = current_database())
"""


@dataclass(frozen=True)
class Database:
    """Workers and those who enqueue and watch come as different users, so that statements can be told apart."""

    port: int
    name: str
    server_pid: int

    @property
    def client_url(self) -> str:
        return f"postgresql://app@127.0.0.1:{self.port}/{self.name}"

    @property
    def worker_url(self) -> str:
        return f"postgresql://worker@127.0.0.1:{self.port}/{self.name}"

    def worker_statements(self) -> int:
        return int(self.value(_STATEMENTS))

    def cpu_seconds(self) -> float:
        """Of the server's processes that are alive."""
        return cpu_seconds(family(self.server_pid))

    def value(self, sql: str) -> Any:
        return asyncio.run(_fetch_value(self.client_url, sql))


class Server:
    def __init__(self, port: int, folder: Path) -> None:
        self._port = port
        self._pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        self._outside = Database(port, "postgres", self._pid)
        self._outside.value("create role worker superuser login")

    def new_database(self, name: str) -> Database:
        self._outside.value(f"create database {name}")
        database = Database(self._port, name, self._pid)
        database.value("create extension pg_stat_statements")
        return database


@contextmanager
def durable_postgres() -> Iterator[Server]:
    with TemporaryDirectory(prefix="waypost-bench-", ignore_cleanup_errors=True) as name:
        folder, port = Path(name), free_port()
        postgres.make_cluster(folder, port)
        with (folder / "data" / "postgresql.conf").open("a") as configuration:
            configuration.writelines(f"{setting} = '{value}'\n" for setting, value in SETTINGS.items())
        server = PrivateServer(postgres.command(folder), folder, lambda: postgres.answers(port))
        try:
            server.start()
            yield Server(port, folder)
        finally:
            server.kill()


async def _fetch_value(url: str, sql: str) -> Any:
    connection = await asyncpg.connect(url, timeout=60, command_timeout=3600)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()
