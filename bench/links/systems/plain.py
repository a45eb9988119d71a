"""FastAPI and Redis, as people write it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from redis import Redis

from bench.links.systems import System, by_phrase
from bench.places.systems import Serving
from bench.places.systems.starting import plain_environ, serving
from support.servers import redis as redis_server
from support.servers.private import PrivateServer
from support.servers.sharing import free_port
from waypost.sharing.links.link import Link

NAME = "FastAPI and Redis"
_ROOT = Path(__file__).parents[3]


def plain(folder: Path, links: Sequence[Link]) -> System:
    return System(NAME, links, by_phrase, lambda core: _serve(folder, links, core))


@contextmanager
def _serve(folder: Path, links: Sequence[Link], core: int) -> Iterator[Serving]:
    """Redis may use every core, and keeps all in memory alone."""
    folder.mkdir()
    port, redis_port = free_port(), free_port()
    server = PrivateServer(redis_server.command(redis_port, folder), folder, lambda: redis_server.answers(redis_port))
    address = f"redis://127.0.0.1:{redis_port}"
    try:
        server.start()
        with Redis.from_url(address) as client:
            for link in links:
                client.set(f"link:{link.phrase}", link.target)
        command = [sys.executable, "-m", "bench.links.programs.plain_api", address, str(port)]
        env, url = plain_environ(PYTHONPATH=str(_ROOT)), f"http://127.0.0.1:{port}"
        with serving(command, url=url, ready="/readyz", core=core, folder=folder, env=env) as started:
            yield started
    finally:
        server.kill()
