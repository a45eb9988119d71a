"""The servers that a URL names, and the driver's client for them.

    redis://user:password@host:6379/0                       one server
    redis+cluster://user:password@host:6379,host:6379       a cluster; any of its nodes will do
    redis+sentinel://user:password@host:26379,…/main/0      the master of this name, which these sentinels know

`rediss` instead of `redis` is TLS. Options of the driver may follow in the query; a sentinel's own user and password
are `sentinel_username` and `sentinel_password`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster, SSLConnection
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff

from waypost.adapters.hosts import read_port, show_host, split_host

CONNECTIONS = 16
# To each node of a cluster: those, the quick one, and the listeners. Asking for more is an error there, not a wait.
_CONNECTIONS_TO_A_NODE = 64
_CONNECT_SECONDS = 5.0
_REPLY_SECONDS = 10.0
_PORT, _SENTINEL_PORT = 6379, 26379


@dataclass(frozen=True)
class Servers:
    redis: Redis | RedisCluster
    # For people, and without the password.
    address: str
    close: Callable[[], Awaitable[None]] = field(repr=False)


class _WaitingSentinelPool(SentinelConnectionPool, BlockingConnectionPool):
    """Leads to the master; a caller that finds all connections in use waits for one."""


def servers_at(url: str) -> Servers:
    """Makes the client for a URL; nothing is sent yet. Raises ValueError, whose text may have the password in it."""
    scheme, _, rest = url.partition("://")
    tls, _, kind = scheme.partition("+")
    make = {"": _single, "cluster": _cluster, "sentinel": _sentinel}.get(kind)
    if tls not in {"redis", "rediss"} or make is None:
        raise ValueError("not a scheme of ours")
    return make(tls, rest)


def _single(scheme: str, rest: str) -> Servers:
    options = _common() | {"max_connections": CONNECTIONS, "timeout": _REPLY_SECONDS}
    pool = BlockingConnectionPool.from_url(f"{scheme}://{rest}", **options)
    redis = Redis.from_pool(pool)
    given = pool.connection_kwargs
    place = given.get("path") or show_host(given.get("host", "localhost"), given.get("port", _PORT))
    return Servers(redis, f"{place}/{given.get('db') or 0}", redis.aclose)


def _cluster(scheme: str, rest: str) -> Servers:
    hosts, path, options = _read(scheme, rest, _PORT)
    if path.strip("/") not in {"", "0"}:
        raise ValueError("a cluster has one database, which has no name")
    redis = RedisCluster(
        startup_nodes=[ClusterNode(name, port) for name, port in hosts],
        max_connections=_CONNECTIONS_TO_A_NODE,
        # All that is ours in a namespace is on one node; that others are away is not a reason to stop.
        require_full_coverage=False,
        **(_common() | options),
    )
    return Servers(redis, _show(hosts), redis.aclose)


def _sentinel(scheme: str, rest: str) -> Servers:
    hosts, path, options = _read(scheme, rest, _SENTINEL_PORT)
    name, _, database = path.strip("/").partition("/")
    if not name:
        raise ValueError("the name of the master is missing")
    own = {word: options.pop(f"sentinel_{word}", None) for word in ("username", "password")}
    common = _common() | options
    shared = {word: value for word, value in common.items() if word.startswith(("ssl", "socket_", "retry", "protocol"))}
    sentinel = Sentinel(hosts, sentinel_kwargs=shared | own, **common)  # type: ignore[no-untyped-call] # the driver's
    redis = sentinel.master_for(
        unquote(name),
        connection_pool_class=_WaitingSentinelPool,
        db=int(database or 0),
        max_connections=CONNECTIONS,
        timeout=_REPLY_SECONDS,
    )

    async def close() -> None:
        await redis.aclose()
        await sentinel.aclose()

    return Servers(redis, f"{unquote(name)} of the sentinels {_show(hosts)}", close)


def _common() -> dict[str, Any]:
    return {
        "socket_timeout": _REPLY_SECONDS,
        "socket_connect_timeout": _CONNECT_SECONDS,
        "decode_responses": True,
        "protocol": 2,
        # A call whose reply was lost may have been done. Doing it again behind the caller's back would count
        # twice, or turn an acknowledgement into a lost lease; the caller is told, and knows better.
        "retry": Retry(NoBackoff(), 0),
    }


def _read(scheme: str, rest: str, default_port: int) -> tuple[list[tuple[str, int]], str, dict[str, Any]]:
    """Hosts, path, and the options of the driver: user, password, and what the query says, as the driver reads it."""
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    user, at, there = authority.rpartition("@")
    hosts = [_read_host(part, default_port) for part in there.split(",")]
    rest_of_query = urlencode(parse_qsl(query, keep_blank_values=True))
    options = dict(parse_url(f"{scheme}://{user}{at}host?{rest_of_query}"))
    del options["host"]
    if options.pop("connection_class", None) is SSLConnection:
        options["ssl"] = True
    return hosts, path, options


def _read_host(text: str, default_port: int) -> tuple[str, int]:
    name, port = split_host(text)
    return name or "localhost", read_port(port) if port else default_port


def _show(hosts: list[tuple[str, int]]) -> str:
    return ",".join(show_host(name, port) for name, port in hosts)
