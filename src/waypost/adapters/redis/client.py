"""One Redis, or several that act as one: a bounded pool of connections, scripts by their digest, and a listener for
what is published.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, cast

from redis.asyncio import Redis, RedisCluster
from redis.client import NEVER_DECODE
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import NoPermissionError, NoScriptError, RedisClusterException, ResponseError

from waypost.adapters.errors import StoreRefused
from waypost.adapters.redis.errors import DRIVER_ERRORS, translate
from waypost.adapters.redis.listening import Listener
from waypost.adapters.redis.scripts import Script, make_script
from waypost.adapters.redis.servers import CONNECTIONS, Servers, servers_at
from waypost.kernel.errors import AskedWrongly

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection

_QUICK_SECONDS = 3.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = make_script("time", "return redis.call('TIME')")

Argument = str | bytes | int


class OwnConnection:
    """Makes one call after the other, on a connection of its own: taking one from the pool, checking that it is still
    open, and setting a timer for each half of a call takes as long as the rest of it.
    """

    def __init__(self, redis: Redis) -> None:
        self._pool = redis.connection_pool
        self._own: AbstractConnection | None = None

    async def call(self, *command: Any) -> bytes | None:
        """Makes a call on our own connection, which is opened again if it was closed."""
        if self._own is None:
            own: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call] # a decorator's
            own.socket_timeout = None
            self._own = own
        if not self._own.is_connected:
            # Sending would open it too, but at the old address, whatever the sentinels say by now.
            await self._own.connect()  # type: ignore[no-untyped-call] # the driver's
        await self._own.send_packed_command(self._own.pack_command(*command), check_health=False)
        return cast("bytes | None", await self._own.read_response(disable_decoding=True))


class ToTheRightNode:
    """Makes calls on a connection to the node of a cluster that has the key, which may be another one each time."""

    def __init__(self, cluster: RedisCluster) -> None:
        self._cluster = cluster

    async def call(self, *command: Any) -> bytes | None:
        return cast("bytes | None", await self._cluster.execute_command(*command, **{NEVER_DECODE: []}))


class RedisClient:
    """Belongs to the event loop it was opened in; a thread with a loop of its own opens its own."""

    def __init__(self, servers: Servers) -> None:
        self.address = servers.address
        self._redis: Any = servers.redis
        self._servers = servers
        self._listeners: dict[str, Listener] = {}
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._turn = asyncio.Lock()
        redis = servers.redis
        self._quick = ToTheRightNode(redis) if isinstance(redis, RedisCluster) else OwnConnection(redis)

    @classmethod
    async def open(cls, url: str) -> Self:
        """Returns a client whose server has answered."""
        try:
            servers = servers_at(url)
        except ValueError:
            # What the driver says about a URL may quote a part that is the password.
            raise _misspelt("this is not the URL of a Redis, or has an unknown option") from None
        client = cls(servers)
        try:
            await client.check(url.partition(":")[0])
        except BaseException:
            await client.close()
            raise
        return client

    async def check(self, scheme: str) -> None:
        """Checks that the server answers, and is what the URL says: a cluster's node would send us away for ever."""
        with self._translated():
            if isinstance(self._redis, RedisCluster):
                await self._check_cluster(self._redis)
                return
            mode = await self._ask_mode()
        if mode in {"cluster", "sentinel"}:
            tls = scheme.partition("+")[0]
            more = "/name-of-the-master" if mode == "sentinel" else ""
            raise _misspelt(
                f"the Redis at {self.address} is a {'sentinel' if more else 'node of a cluster'},"
                f" and the URL must begin with {tls}+{mode}://",
                f"write it like {tls}+{mode}://user:password@{self.address.partition('/')[0]}{more}",
            )

    async def _ask_mode(self) -> str:
        try:
            return str((await self._redis.info("server")).get("redis_mode"))
        except NoPermissionError:
            await self._redis.ping()
            return ""
        except ResponseError as error:
            if "unknown command 'SENTINEL'" in str(error):
                raise _misspelt("what the URL names as sentinels are not sentinels, but Redis itself") from error
            raise

    async def _check_cluster(self, cluster: RedisCluster) -> None:
        try:
            await cluster.initialize()
        except RedisClusterException as error:
            if "Cluster mode is not enabled" in str(error):
                raise _misspelt(
                    f"the Redis at {self.address} is not a cluster, or does not let us use CLUSTER SLOTS"
                ) from error
            raise

    async def now_us(self, key: str) -> int:
        """The store's clock: that of the server with this key."""
        seconds, micros = await self.run(_TIME, key)
        return int(seconds) * 1_000_000 + int(micros)

    async def server_time(self) -> datetime:
        return _EPOCH + timedelta(microseconds=await self.now_us("{waypost}:clock"))

    async def eviction_policies(self) -> tuple[str, ...] | None:
        """What each server does when its memory is full; None when we may not ask.

        Asked of INFO and not of CONFIG, which many who rent a Redis may not use.
        """
        try:
            with self._translated():
                if isinstance(self._redis, RedisCluster):
                    told = list((await self._redis.info("memory", target_nodes=RedisCluster.PRIMARIES)).values())
                else:
                    told = [await self._redis.info("memory")]
        except StoreRefused:
            return None
        return tuple(sorted({str(each.get("maxmemory_policy")) for each in told}))

    async def run(self, script: Script, key: str, *arguments: Argument) -> Any:
        """Runs a script on one key and those derived from it: one call, even on a server that never saw the script.

        A restarted or flushed server has forgotten it, and one that took over never had it; the whole text then goes
        instead, which makes it known again.
        """
        with self._translated():
            async with self._room:
                try:
                    return await self._redis.evalsha(script.sha, 1, key, *arguments)
                except NoScriptError:
                    return await self._redis.eval(script.text, 1, key, *arguments)

    async def run_quickly(self, script: Script, key: str, argument: bytes) -> bytes | None:
        """Runs a script that takes and returns bytes, and that may run twice if a reply is lost."""
        with self._translated():
            async with self._turn, asyncio.timeout(_QUICK_SECONDS):
                try:
                    return await self._call(script, key, argument)
                except ConnectionLost:  # it may have been closed long ago
                    return await self._call(script, key, argument)

    async def _call(self, script: Script, key: str, argument: bytes) -> bytes | None:
        try:
            return await self._quick.call("EVALSHA", script.sha, 1, key, argument)
        except NoScriptError:
            return await self._quick.call("EVAL", script.text, 1, key, argument)

    def listener(self, channel: str) -> Listener:
        """Returns the listener for a channel; it ends with the client."""
        return self._listeners.setdefault(channel, Listener(self._redis, channel))

    async def close(self) -> None:
        await asyncio.gather(*(listener.close() for listener in self._listeners.values()))
        await self._servers.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Whatever the driver raises in here becomes ours; what is a defect of ours stays as it is."""
        try:
            yield
        except DRIVER_ERRORS as error:
            raise translate(error, self.address) or error from error


def _misspelt(message: str, next_step: str = "") -> AskedWrongly:
    ways = "redis://user:password@host:6379/0, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379/main"
    return AskedWrongly(
        message, next_step=next_step or f"write it like {ways}; rediss… for TLS", parameter="WAYPOST_REDIS"
    )
