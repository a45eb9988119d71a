"""One Redis: a bounded pool of connections, scripts by their digest, and a listener for what is published."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import NoScriptError, RedisError

from waypost.adapters.redis.errors import translate
from waypost.adapters.redis.listening import Listener
from waypost.adapters.redis.scripts import Script
from waypost.kernel.errors import AskedWrongly

if TYPE_CHECKING:
    from redis.asyncio.connection import AbstractConnection

_CONNECTIONS = 16
_CONNECT_SECONDS = 5.0
_REPLY_SECONDS = 10.0
_QUICK_SECONDS = 3.0

Argument = str | bytes | int


class RedisClient:
    """Belongs to the event loop it was opened in; a thread with a loop of its own opens its own."""

    def __init__(self, pool: BlockingConnectionPool) -> None:
        self.address = _address(pool)
        self._redis = Redis.from_pool(pool)
        self._listeners: dict[str, Listener] = {}
        self._pool = pool
        self._own: AbstractConnection | None = None
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, url: str) -> Self:
        """A client whose server has answered."""
        try:
            pool = BlockingConnectionPool.from_url(
                url,
                max_connections=_CONNECTIONS,
                timeout=_REPLY_SECONDS,
                socket_timeout=_REPLY_SECONDS,
                socket_connect_timeout=_CONNECT_SECONDS,
                decode_responses=True,
                protocol=2,
                # A call whose reply was lost may have been done. Doing it again behind the caller's back would count
                # twice, or turn an acknowledgement into a lost lease; the caller is told, and knows better.
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise AskedWrongly(
                f"this is not the URL of a Redis: {error}",
                next_step="write it like redis://user:password@host:6379/0, or rediss:// for TLS",
                parameter="WAYPOST_REDIS",
            ) from error
        client = cls(pool)
        try:
            await client.ping()
        except BaseException:
            await client.close()
            raise
        return client

    async def ping(self) -> None:
        with self._translated():
            await self._redis.ping()

    async def now_us(self) -> int:
        """The store's clock."""
        with self._translated():
            seconds, micros = await self._redis.time()
        return seconds * 1_000_000 + micros

    async def run(self, script: Script, key: str, *arguments: Argument) -> Any:
        """Run a script on one key and those derived from it: one call, also on a server that never saw the script.

        A restarted or flushed server has forgotten it; the whole text then goes instead, which makes it known again.
        """
        with self._translated():
            try:
                return await self._redis.evalsha(script.sha, 1, key, *arguments)
            except NoScriptError:
                return await self._redis.eval(script.text, 1, key, *arguments)

    async def run_quickly(self, script: Script, key: str, argument: bytes) -> bytes | None:
        """The same for a script that takes and returns bytes, and may run twice if a reply is lost.

        One call after the other, on a connection of their own: to take one from the pool, to look whether it is still
        open, and to set a timer for each half of a call takes as long as the rest of it.
        """
        try:
            async with self._turn, asyncio.timeout(_QUICK_SECONDS):
                try:
                    return await self._call(script, key, argument)
                except ConnectionLost:  # it may have been closed long ago
                    return await self._call(script, key, argument)
        except (RedisError, OSError, RuntimeError) as error:
            raise self._ours(error) from error

    async def _call(self, script: Script, key: str, argument: bytes) -> bytes | None:
        if self._own is None:
            own: AbstractConnection = await self._pool.get_connection()  # type: ignore[no-untyped-call] # a decorator's
            own.socket_timeout = None
            self._own = own
        try:
            return await self._send("EVALSHA", script.sha, 1, key, argument)
        except NoScriptError:
            return await self._send("EVAL", script.text, 1, key, argument)

    async def _send(self, *command: Argument) -> bytes | None:
        """On our own connection, which is opened again if it was closed."""
        assert self._own
        await self._own.send_packed_command(self._own.pack_command(*command), check_health=False)
        return cast("bytes | None", await self._own.read_response(disable_decoding=True))

    def listener(self, channel: str) -> Listener:
        """Who hears what is published on a channel; it ends with the client."""
        return self._listeners.setdefault(channel, Listener(self._redis, channel))

    async def close(self) -> None:
        await asyncio.gather(*(listener.close() for listener in self._listeners.values()))
        await self._redis.aclose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (RedisError, OSError, RuntimeError) as error:
            raise self._ours(error) from error

    def _ours(self, error: Exception) -> Exception:
        """Our error for one of the driver's, or that itself if it tells of a defect."""
        return translate(error, self.address) or error


def _address(pool: BlockingConnectionPool) -> str:
    """For people, and without the password."""
    options = pool.connection_kwargs
    place = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    return f"{place}/{options.get('db') or 0}"
