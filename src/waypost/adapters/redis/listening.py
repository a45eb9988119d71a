"""Hears what is published on a channel, from the first wait for it on."""

import asyncio
from contextlib import suppress

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.client import PubSub
from redis.exceptions import ConnectionError as ConnectionLost

from waypost.adapters.redis.errors import DRIVER_ERRORS
from waypost.kernel.tasks import end

_PING_SECONDS = 15.0
_RECONNECT_SECONDS = 1.0


class Listener:
    """Says that something was published since the last wait, not what and not how often: nothing can pile up."""

    def __init__(self, redis: Redis | RedisCluster, channel: str) -> None:
        self._redis = redis
        self._channel = channel
        self._heard = asyncio.Event()
        self._subscriptions = 0
        self._is_subscribed = False
        self._task: asyncio.Task[None] | None = None

    @property
    def subscription(self) -> int | None:
        """The number of the subscription under way; None while what is published would not be heard."""
        return self._subscriptions if self._is_subscribed else None

    async def wait(self, seconds: float) -> None:
        """Waits until something was published, or `seconds` have passed.

        The start of each subscription counts as news: what was published before it was not heard.
        """
        self._task = self._task or asyncio.create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._heard.wait()
        self._heard.clear()

    async def close(self) -> None:
        if self._task:
            await end(self._task)

    async def _listen(self) -> None:
        while True:
            # Without a server nobody is woken: waiters come back by time-out, and meet the error there.
            # (A RuntimeError is how uvloop says that the connection was cut while we were about to write.)
            with suppress(*DRIVER_ERRORS):
                async with self._redis.pubsub() as subscription:
                    await subscription.subscribe(self._channel)
                    await self._follow(subscription)
            self._is_subscribed = False
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _follow(self, subscription: PubSub) -> None:
        asked = False
        while True:
            message = await subscription.get_message(timeout=_PING_SECONDS)
            if message is not None:
                asked = False
                if message["type"] == "subscribe":
                    self._subscriptions += 1
                    self._is_subscribed = True
                if message["type"] in {"subscribe", "message"}:
                    self._heard.set()
            elif asked:
                raise ConnectionLost("no answer on the channel")
            else:
                await subscription.ping()
                asked = True
