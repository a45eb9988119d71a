"""Vector tiles in the map library that most people draw them with, in a real browser, from another origin."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from playwright.sync_api import Page

from support.processes import Processes
from support.snapshots import shelve, station
from waypost.places.place import Place

FOLDER = Path(__file__).parent / "maplibre"
# So many around one point that they are clusters from afar, and each by itself from close by.
TOWN = 2000


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture
def site() -> Iterator[str]:
    """The page with the map, and the library."""
    assert (FOLDER / "node_modules").is_dir(), "this test needs MapLibre: tools/install-node tests/e2e/maplibre"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(FOLDER))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def in_town(number: int) -> Place:
    """On a grid of a few hundred metres around 10 degrees east, 50 degrees north."""
    down, across = divmod(number, 50)
    return msgspec.structs.replace(station(number), lat=50 + down * 0.005, lon=10 + across * 0.005)


def test_places_and_clusters_are_drawn(processes: Processes, page: Page, site: str) -> None:
    places = [in_town(number) for number in range(TOWN)]
    shelve(processes.folder / "snapshots", places)
    server = processes.serve("places", "--data", str(processes.folder), env={"WAYPOST_CORS": site})
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    def look(zoom: float) -> dict[str, list[dict[str, Any]]]:
        asked = {"tiles": f"{server}/tiles/places.json", "center": "10.12,50.1", "zoom": zoom}
        page.goto(f"{site}/index.html?{urlencode(asked)}")
        shown: dict[str, list[dict[str, Any]]] = page.wait_for_function("window.shown").json_value()
        assert complaints == []
        return shown

    afar = look(5)
    assert sum(cluster["point_count"] for cluster in afar["clusters"]) + len(afar["places"]) == TOWN
    nearby = look(13)
    assert nearby["clusters"] == []
    named = {place.name: place for place in places}
    assert len(nearby["places"]) > 50
    for shown in nearby["places"]:
        place = named[shown["name"]]
        assert (shown["id"], shown["status"], shown["power_kw"]) == (str(place.id), "operational", 150)
