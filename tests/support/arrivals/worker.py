"""A process with some workers, each of which does nothing but wait for its turn and ask the provider.

`python -m support.arrivals.worker LIMITER REDIS LIMIT PROVIDER WORKERS`: the module that has the limiter, where its
Redis is, requests a second, the provider's port, and how many workers. It says `up` when it could begin, and begins
when it is told anything.
"""

import asyncio
import os
import sys
import time
from importlib import import_module
from typing import Protocol, cast

import uvloop

_ANSWER_SECONDS = 10.0


class Limiter(Protocol):
    """Who says when it is somebody's turn; a module that has one makes it with `make(url, rate)`."""

    async def open(self) -> None: ...

    async def acquire(self) -> None:
        """Return when it is the caller's turn."""
        ...

    async def refused(self, retry_after: str | None) -> None:
        """The provider said 429."""
        ...

    def succeeded(self) -> None: ...


async def ask(limiter: Limiter, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
    await limiter.acquire()
    writer.write(f"GET /{name}/{time.monotonic_ns()} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    async with asyncio.timeout(_ANSWER_SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if " 200 " in head:
        limiter.succeeded()
    else:
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        await limiter.refused(headers.get("Retry-After"))


async def work(limiter: Limiter, port: int, name: str, begin: asyncio.Event) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await begin.wait()
    while True:
        await ask(limiter, reader, writer, name)


async def run(limiter: Limiter, port: int, workers: int) -> None:
    await limiter.open()
    begin = asyncio.Event()
    asyncio.get_running_loop().add_reader(0, begin.set)
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            group.create_task(work(limiter, port, f"{os.getpid()}-{number}", begin))
        os.write(1, b"up\n")
        await begin.wait()
        asyncio.get_running_loop().remove_reader(0)


def main() -> None:
    module, url, rate, port, workers = sys.argv[1:]
    limiter = cast("Limiter", import_module(module).make(url, int(rate)))
    uvloop.run(run(limiter, int(port), int(workers)))


if __name__ == "__main__":
    main()
