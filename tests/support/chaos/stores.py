"""Where the jobs of a drill are kept: with the places in SQLite, or on a server."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from support.job_store_mongodb import clean_url
from support.job_store_postgres import clean_database
from support.servers.private import PrivateServer, private_mongod, private_postgres, private_redis


@dataclass(frozen=True)
class JobsAt:
    """The address of a clean job store. It is empty for SQLite, where jobs live with the places."""

    url: str

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def through(self, port: int) -> str:
        """The same store behind a proxy. A MongoDB driver would find its way around it, unless told not to look."""
        moved = self.url.replace(f"127.0.0.1:{self.port}", f"127.0.0.1:{port}")
        return moved.replace("replicaSet=rs0", "directConnection=true")


@contextmanager
def sqlite() -> Iterator[JobsAt]:
    yield JobsAt("")


@contextmanager
def postgres() -> Iterator[JobsAt]:
    with _entered(clean_database()) as url:
        yield JobsAt(url)


@contextmanager
def mongodb() -> Iterator[JobsAt]:
    with _entered(clean_url()) as url:
        yield JobsAt(url)


@contextmanager
def redis() -> Iterator[JobsAt]:
    with private_redis() as (url, _):
        yield JobsAt(url)


@contextmanager
def _entered(manager: AbstractAsyncContextManager[str]) -> Iterator[str]:
    async def enter() -> str:
        return await manager.__aenter__()

    async def leave() -> None:
        await manager.__aexit__(None, None, None)

    with asyncio.Runner() as runner:
        value = runner.run(enter())
        try:
            yield value
        finally:
            runner.run(leave())


JOBS: dict[str, Callable[[], AbstractContextManager[JobsAt]]] = {
    "sqlite": sqlite,
    "postgres": postgres,
    "mongodb": mongodb,
    "redis": redis,
}
# Servers of the drill's own, to be killed.
OWN_SERVERS: dict[str, Callable[[], AbstractContextManager[tuple[str, PrivateServer]]]] = {
    "postgres": private_postgres,
    "mongodb": private_mongod,
    "redis": private_redis,
}
