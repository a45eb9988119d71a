"""Hearing that something happened in the store, as soon as it has."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from waypost.kernel.backoff import full_jitter
from waypost.kernel.errors import StoreTrouble
from waypost.kernel.tasks import end
from waypost.telemetry.logs import get_logger

log = get_logger("postgres")

_RETRY_BASE, _RETRY_CAP = 0.5, 10.0
# A server that vanished without a word is noticed by asking it now and then.
_ASK_SECONDS = 30.0


class Wakeups:
    """Listens to one channel, on a connection of its own that is opened again whenever it breaks."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], channel: str) -> None:
        self._connect = connect
        self._channel = channel
        self._news = asyncio.Event()
        self._rng = random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    async def wait(self, seconds: float) -> None:
        """Waits until the channel is notified, or may have been while we did not listen, or `seconds` have passed."""
        # The listener is a task of its own, because waiters are cancelled all the time.
        self._task = self._task or asyncio.create_task(self._listen())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def forget(self) -> None:
        """Forgets what was heard so far: the store is about to be looked at."""
        self._news.clear()

    async def close(self) -> None:
        if self._task is not None:
            await end(self._task)

    async def _listen(self) -> None:
        while True:
            if self._failures:
                await asyncio.sleep(full_jitter(self._failures, base=_RETRY_BASE, cap=_RETRY_CAP, rng=self._rng))
            self._failures += 1
            try:
                connection = await self._connect()
            except StoreTrouble as trouble:
                log.warning("cannot listen for new work; polling", error=trouble.slug, message=str(trouble))
                continue
            try:
                await self._hear(connection)
            except Exception as error:  # noqa: BLE001 - however it broke, the answer is another connection
                log.info("the connection for notifications broke", message=str(error))
            finally:
                connection.terminate()
            self._news.set()

    async def _hear(self, connection: Any) -> None:
        """Listens until the connection breaks."""
        broken = asyncio.Event()
        connection.add_termination_listener(lambda _connection: broken.set())
        await connection.add_listener(self._channel, lambda *_notification: self._news.set())
        self._failures = 0
        self._news.set()
        while not broken.is_set():
            try:
                async with asyncio.timeout(_ASK_SECONDS):
                    await broken.wait()
            except TimeoutError:
                await connection.execute("select 1")
