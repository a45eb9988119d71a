"""A thousand exchanges of the generation in service, while clients ask: none of them fails, and none sees a mixture."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.snapshots import shelve, stations
from waypost.kernel.tasks import end
from waypost.places.place import place_id
from waypost.roles.kit import snapshot_watcher
from waypost.roles.kit.http_server import HttpServer, address, listen
from waypost.roles.kit.snapshot_watcher import SnapshotWatcher
from waypost.serving.shelf import CURRENT
from waypost.settings import load_settings
from waypost.web.app import make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust

SWAPS = 1000
ASKING = 3
PLACES = 60
BOX = "/v1/places?bbox=-90,-45,90,45&limit=30"
ITEM = place_id("sim:7")


@asynccontextmanager
async def places_server(folder: Path) -> AsyncIterator[tuple[str, SnapshotWatcher]]:
    watcher = SnapshotWatcher(load_settings({"snapshots": str(folder)}, environ={}))
    await watcher.look()
    app = make_app(
        probes={"snapshot": watcher.probe}, guard=WriteGuard(LocalTrust.on("127.0.0.1")), places=watcher.part
    )
    with listen("127.0.0.1", 0, moves_on=False) as sock:
        server = HttpServer(app)
        tasks = [asyncio.create_task(server.serve(sockets=[sock])), asyncio.create_task(watcher.keep_looking())]
        try:
            yield address(sock), watcher
        finally:
            server.stop()
            await tasks[0]
            await end(tasks[1])


def point_to(folder: Path, name: str) -> None:
    fresh = folder / "CURRENT.fresh"
    fresh.write_text(name, encoding="ascii")
    fresh.replace(folder / CURRENT)


def mapped_files(folder: Path) -> int:
    return Path("/proc/self/maps").read_text(encoding="utf-8").count(str(folder))


class Visitor:
    """Asks for one thing after the other, and checks that each answer is of one generation."""

    def __init__(self, client: httpx.AsyncClient, marks: dict[str, str]) -> None:
        self._client = client
        self._marks = marks
        self.seen: set[str] = set()
        self.answers = 0

    async def go_on(self) -> None:
        while True:
            await self.look_at_box()
            await self.look_at_one()
            await self.turn_pages()

    async def look_at_box(self) -> None:
        answer = await self._client.get(BOX)
        document = self._read(answer)
        marks = {feature["properties"]["name"].split()[0] for feature in document["features"]}
        assert marks == {self._marks[document["generation"]]}
        assert answer.headers["etag"].startswith(f'"{document["generation"]}')

    async def look_at_one(self) -> None:
        answer = await self._client.get(f"/v1/places/{ITEM}")
        mark = self._read(answer)["properties"]["name"].split()[0]
        assert mark == self._marks[answer.headers["etag"].strip('"')]

    async def turn_pages(self) -> None:
        """All pages are of the generation of the first one, though there are others meanwhile."""
        document = self._read(await self._client.get("/collections/places/items?limit=24"))
        generation, names = document["generation"], []
        while True:
            names += [feature["properties"]["name"] for feature in document["features"]]
            following = [link["href"] for link in document["links"] if link["rel"] == "next"]
            if not following:
                break
            document = self._read(await self._client.get(following[0]))
            assert document["generation"] == generation
        assert sorted(names) == sorted(f"{self._marks[generation]} {number}" for number in range(PLACES))

    def _read(self, answer: httpx.Response) -> dict[str, Any]:
        assert answer.status_code == 200, answer.text
        self.answers += 1
        self.seen.add(answer.headers["etag"].strip('"').partition("-zstd")[0].partition("-gzip")[0])
        document = answer.json()
        assert isinstance(document, dict)
        return document


@pytest.mark.timeout(600)
@pytest.mark.anyio
async def test_a_thousand_swaps_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_watcher, "_LOOK_SECONDS", 0.0)
    names = [shelve(tmp_path, stations(PLACES, name=mark), hours=at) for at, mark in enumerate(("First", "Second"))]
    marks = dict(zip(names, ("First", "Second"), strict=True))
    try:
        async with places_server(tmp_path) as (url, watcher), httpx.AsyncClient(base_url=url) as client:
            visitors = [Visitor(client, marks) for _ in range(ASKING)]
            tasks = [asyncio.create_task(visitor.go_on()) for visitor in visitors]
            for swap in range(SWAPS):
                wanted = names[swap % 2]
                point_to(tmp_path, wanted)
                while watcher.live.generation.name != wanted:
                    failed = [task for task in tasks if task.done()]
                    assert not failed, failed
                    await asyncio.sleep(0)
            for task in tasks:
                assert not task.done(), task
                await end(task)
        assert sum(visitor.answers for visitor in visitors) > SWAPS
        assert set.union(*(visitor.seen for visitor in visitors)) == set(names)
        # What is no longer served, or kept for those who turn pages, is not mapped any more.
        assert mapped_files(tmp_path) < 100
    finally:
        gc.unfreeze()
