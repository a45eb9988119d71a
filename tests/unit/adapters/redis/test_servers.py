"""The URLs of one Redis, of a cluster, and of what sentinels watch over."""

from typing import Any

import pytest
from redis.asyncio import RedisCluster, SSLConnection
from redis.asyncio.sentinel import SentinelConnectionPool, SentinelManagedSSLConnection

from waypost.adapters.redis.client import RedisClient
from waypost.adapters.redis.servers import servers_at
from waypost.kernel.errors import AskedWrongly

pytestmark = pytest.mark.anyio

ADDRESSES = {
    "redis://ada:secret@cache:6380/2": "cache:6380/2",
    "redis://": "localhost:6379/0",
    "redis+cluster://ada:secret@a:7001,b,[::1]:7003": "a:7001,b:6379,[::1]:7003",
    "rediss+cluster://a/0": "a:6379",
    "redis+sentinel://ada:secret@a,b:26380/main": "main of the sentinels a:26379,b:26380",
    "redis+sentinel://a/main/3?sentinel_password=secret": "main of the sentinels a:26379",
}
MISSPELT = (
    "redis+cluster://ada:very-secret@a/1",
    "redis+cluster://ada:very-secret@a:x",
    "redis+cluster://ada:very-secret@a:70000",
    "redis+sentinel://ada:very-secret@a",
    "redis+sentinel://ada:very-secret@a/main/x",
    "redis+other://ada:very-secret@a",
    "redis://ada:very-secret/x@a",
    "amqp://ada:very-secret@a",
)


@pytest.mark.parametrize("url", ADDRESSES)
async def test_a_message_calls_the_servers_by_their_hosts_and_never_by_a_password(url: str) -> None:
    servers = servers_at(url)
    assert servers.address == ADDRESSES[url]
    assert "secret" not in repr(servers)


@pytest.mark.parametrize("url", MISSPELT)
async def test_a_misspelt_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(AskedWrongly) as refusal:
        await RedisClient.open(url)
    assert "very-secret" not in f"{refusal.value} {refusal.value.next_step}"


async def test_a_cluster_is_told_user_password_and_options() -> None:
    cluster = servers_at("rediss+cluster://ada:s%40cret@a,b:7002?ssl_ca_certs=/ca.pem&health_check_interval=7").redis
    assert isinstance(cluster, RedisCluster)
    given = cluster.connection_kwargs
    assert (given["username"], given["password"], given["ssl_ca_certs"]) == ("ada", "s@cret", "/ca.pem")
    assert (given["health_check_interval"], given["connection_class"]) == (7, SSLConnection)
    assert [(node.host, node.port) for node in cluster.startup_nodes] == [("a", 6379), ("b", 7002)]


async def test_sentinels_and_the_master_have_users_and_passwords_of_their_own() -> None:
    url = "rediss+sentinel://ada:secret@a,b/main/3?sentinel_username=eve&sentinel_password=other&ssl_ca_certs=/ca.pem"
    redis: Any = servers_at(url).redis
    pool = redis.connection_pool
    assert isinstance(pool, SentinelConnectionPool)
    assert pool.connection_class is SentinelManagedSSLConnection
    assert pool.service_name == "main"
    given = pool.connection_kwargs
    assert (given["username"], given["password"], given["db"], given["ssl_ca_certs"]) == ("ada", "secret", 3, "/ca.pem")
    asked = pool.sentinel_manager.sentinels[1].connection_pool.connection_kwargs
    assert (asked["host"], asked["port"]) == ("b", 26379)
    assert (asked["username"], asked["password"], asked["ssl_ca_certs"]) == ("eve", "other", "/ca.pem")
