"""A server of links without its socket, on the store that a laptop has, asked by whoever a test wants."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec

from support.asking import ask
from support.snapshots import shelve, stations
from waypost.access.key_ring import KeyRing
from waypost.access.keys import make_key
from waypost.bootstrap.stores import SharingStores, open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.places.place import Place
from waypost.roles.kit.link_parts_assembly import link_parts
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.settings import Settings, load_settings
from waypost.sharing.visits.visit import Visit
from waypost.web.app import App, Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.local_trust import LocalTrust
from waypost.web.links.route_dependencies import LinkParts

TARGET = "https://example.org/a/page?of=ours#here"
NDJSON = {"Content-Type": "application/x-ndjson"}
BEYOND = "203.0.113.9"


@dataclass
class Service:
    app: App
    stores: SharingStores
    parts: LinkParts
    settings: Settings

    async def ask(
        self, method: str, path: str, *, key: str | None = None, headers: dict[str, str] | None = None, **more: Any
    ) -> httpx.Response:
        """Whoever shows a key is somewhere else, where being on this machine does not help."""
        if key is not None:
            headers = {"Authorization": f"Bearer {key}"} | (headers or {})
            more = {"peer": BEYOND} | more
        return await ask(self.app, method, path, headers=headers, **more)

    async def make(self, target: object = TARGET, *, key: str | None = None, **wish: Any) -> Any:
        """A link that is made without trouble, as it is answered."""
        answer = await self.create(target, key=key, **wish)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    async def create(
        self,
        target: object = TARGET,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        peer: str | None = None,
        **wish: Any,
    ) -> httpx.Response:
        more = {} if peer is None else {"peer": peer}
        return await self.ask("POST", "/v1/links", key=key, headers=headers, json={"target": target, **wish}, **more)

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.ask("GET", path, **more)

    async def change(self, phrase: str, /, headers: dict[str, str] | None = None, **changes: Any) -> httpx.Response:
        key = changes.pop("key", None)
        peer = {"peer": changes.pop("peer")} if "peer" in changes else {}
        return await self.ask("PATCH", f"/v1/links/{phrase}", key=key, headers=headers, json=changes, **peer)

    async def send_lines(self, *lines: object, query: str = "", **more: Any) -> httpx.Response:
        """Bytes as they are; everything else as JSON."""
        body = b"\n".join(line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines)
        headers = NDJSON | more.pop("headers", {})
        return await self.ask("POST", f"/v1/links/bulk{query}", headers=headers, content=body, **more)

    async def key(self, *scopes: str, name: str = "a test") -> str:
        key, token = make_key(name, scopes or ("links:read", "links:write"), utc_now())
        await self.stores.keys.add(key)
        return token

    async def visit(self, link_id: str, *moments: datetime, **more: Any) -> None:
        visits = [Visit(f"{link_id}-{number}-{at}", link_id, at, **more) for number, at in enumerate(moments)]
        await self.stores.visits.append(visits)


def lines_of(answer: httpx.Response) -> Sequence[Any]:
    return [msgspec.json.decode(line) for line in answer.content.splitlines()]


@asynccontextmanager
async def link_service(
    folder: Path,
    flags: dict[str, str] | None = None,
    *,
    listening: str = "127.0.0.1",
    places: int | Sequence[Place] = 0,
) -> AsyncIterator[Service]:
    """With places too, where some are given, or a number of them."""
    settings = load_settings({"data": str(folder), **(flags or {})}, environ={})
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_sharing_stores(settings))
        parts = await stack.enter_async_context(link_parts(settings, stores))
        guard = WriteGuard(LocalTrust.on(listening), KeyRing(stores.keys))
        served = _places(settings, places) if places else None
        if served:
            # FastAPI remembers the routes of apps that nobody uses any more.
            stack.callback(served.live.generation.close)
        app = make_app(probes={}, guard=guard, links=parts, places=served)
        yield Service(app, stores, parts, settings)


def _places(settings: Settings, places: int | Sequence[Place]) -> Places:
    shelve(settings.snapshots, stations(places) if isinstance(places, int) else places)
    live = LiveGeneration(Shelf(settings.snapshots))
    live.refresh()
    return Places(live, 100, cors=("*",), closed=not settings.web.places_open)
