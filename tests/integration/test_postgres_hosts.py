"""A PostgreSQL of several hosts: the one that takes writes is found, wherever it stands and whoever else is silent."""

import socket
from contextlib import closing

import pytest

from support.servers import postgres as server
from support.servers.sharing import free_port
from waypost.adapters.errors import StoreAway
from waypost.adapters.postgres.connecting import Host, PostgresConnector
from waypost.adapters.postgres.database import PostgresDatabase

pytestmark = pytest.mark.anyio


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


async def test_of_several_hosts_the_primary_is_found() -> None:
    gone, replica, primary = free_port(), port_of(server.replica()), port_of(server.followed_primary())
    hosts = f"127.0.0.1:{gone},127.0.0.1:{replica},127.0.0.1:{primary}"
    opened = await PostgresDatabase.open(f"postgresql://app@{hosts}/postgres", migrating=True)
    try:
        [row] = await opened.fetch("select pg_is_in_recovery() as is_replica, inet_server_port() as port")
        assert (row["is_replica"], row["port"]) == (False, primary)
    finally:
        await opened.close()


async def test_without_a_primary_the_store_is_away() -> None:
    replica = port_of(server.replica())
    url = f"postgresql://app@127.0.0.1:{replica}/postgres?target_session_attrs=read-write"
    with pytest.raises(StoreAway, match="takes writes"):
        await PostgresDatabase.open(url, migrating=False)


async def test_a_host_that_never_answers_does_not_keep_us_from_the_next() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        hosts = (Host("127.0.0.1", silent.getsockname()[1]), Host("127.0.0.1", port_of(server.primary())))
        connector = PostgresConnector("postgresql://app@/postgres", hosts, 1.0, {})
        connection = await connector.connect()
        assert await connection.fetchval("select 1") == 1
        await connection.close()


async def test_a_server_that_is_the_primary_no_more_is_left() -> None:
    """Its connections stay open, and would lead to it for ever."""
    database = PostgresDatabase(f"{server.replica()}/postgres", pool_size=1)
    try:
        before = await database.run(lambda connection: connection.fetchval("select pg_backend_pid()"))
        with pytest.raises(StoreAway):
            await database.fetch("create table never (id integer)")
        [row] = await database.fetch("select pg_backend_pid() as pid")
        assert row["pid"] != before
    finally:
        await database.close()
