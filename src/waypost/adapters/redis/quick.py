"""Calls that return bytes, as quickly as the driver can make them."""

from typing import TYPE_CHECKING, Any, cast

from redis.asyncio import Redis, RedisCluster
from redis.client import NEVER_DECODE

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection


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
