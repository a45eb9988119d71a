"""Looks names up with the system's own resolver, a few at a time, each in a thread that nobody waits for too long."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from waypost.sharing.links.hosts import Address
from waypost.sharing.links.name_lookup import LookupFailed

_SECONDS = 2.0
_AT_ONCE = 4
_NOBODY = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}

Found = frozenset[Address] | LookupFailed


class SystemNames:
    """`resolve` is called as `socket.getaddrinfo`. It cannot be interrupted: a lookup that takes too long keeps its
    thread, and its turn, until it ends by itself. The threads do not keep the process from ending.
    """

    def __init__(self, resolve: Callable[..., Any] = socket.getaddrinfo, *, seconds: float = _SECONDS) -> None:
        self._resolve = resolve
        self._seconds = seconds
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def addresses(self, name: str) -> frozenset[Address]:
        try:
            async with asyncio.timeout(self._seconds):
                await self._turns.acquire()
                found = await self._begin(name)
        except TimeoutError:
            raise LookupFailed(name) from None
        if isinstance(found, LookupFailed):
            raise found
        return found

    def _begin(self, name: str) -> "asyncio.Future[Found]":
        loop = asyncio.get_running_loop()
        asked: asyncio.Future[Found] = loop.create_future()

        def end(found: Found) -> None:
            self._turns.release()
            if not asked.done():
                asked.set_result(found)

        def work() -> None:
            found = self._look_up(name)
            # The process may be about to end, without its loop.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(end, found)

        threading.Thread(target=work, name="name-lookup", daemon=True).start()
        return asked

    def _look_up(self, name: str) -> Found:
        try:
            rows = self._resolve(name, None, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            return frozenset() if error.errno in _NOBODY else LookupFailed(name)
        except (OSError, UnicodeError):
            return LookupFailed(name)
        return frozenset(ipaddress.ip_address(row[4][0].partition("%")[0]) for row in rows)
