"""Waypost as people start it: `waypost serve redirect`, and `waypost serve links` to make them."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from bench.links.backends import Backend
from bench.links.systems import System, by_phrase
from bench.places.systems import Serving
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import free_port
from waypost.sharing.links.link import Link


def name_of(backend: Backend) -> str:
    return f"waypost, {backend.name}"


def waypost(backend: Backend, links: Sequence[Link]) -> System:
    return System(name_of(backend), links, by_phrase, lambda core: serve(backend, "redirect", core))


@contextmanager
def serve(backend: Backend, role: Literal["redirect", "links"], core: int) -> Iterator[Serving]:
    port = free_port()
    command = [sys.executable, "-m", "waypost", "serve", role, "--port", str(port)]
    folder, env = backend.folder, plain_environ(**backend.settings)
    url = f"http://127.0.0.1:{port}"
    with serving(command, url=url, ready="/readyz", core=core, folder=folder, env=env) as started:
        yield started
