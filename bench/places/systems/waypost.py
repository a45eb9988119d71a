"""Waypost as people start it: `waypost serve places`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from bench.places.questions import BOX_LIMIT, NEAREST, TEXT_LIMIT, Kind
from bench.places.systems import Ask, Serving, Stock, System
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import free_port

PATHS: dict[Kind, Ask] = {
    "by id": lambda asked: f"/v1/places/{asked.place_id}",
    "box of 100": lambda asked: f"/v1/places?bbox={','.join(map(str, asked.box))}&limit={BOX_LIMIT}",
    "nearest 10": lambda asked: f"/v1/places?near={asked.point[0]},{asked.point[1]}&limit={NEAREST}",
    "text prefix": lambda asked: f"/v1/places?q={quote(asked.text)}&limit={TEXT_LIMIT}",
    "tile": lambda asked: "/tiles/{}/{}/{}.mvt".format(*asked.tile),
}


def waypost(stock: Stock) -> System:
    return System("waypost", PATHS, lambda core: serve(stock, core))


@contextmanager
def serve(stock: Stock, core: int) -> Iterator[Serving]:
    port = free_port()
    command = [sys.executable, "-m", "waypost", "serve", "places", "--port", str(port)]
    env = plain_environ(WAYPOST_DATA=str(stock.snapshots), WAYPOST_LOG_LEVEL="warning")
    url = f"http://127.0.0.1:{port}"
    with serving(command, url=url, ready="/readyz", core=core, folder=stock.folder, env=env) as started:
        yield started
