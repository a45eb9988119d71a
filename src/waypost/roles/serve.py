"""The serving roles: places from the current generation, links and their redirects, or all of it on one port."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Literal

from starlette.types import ASGIApp

from waypost.bootstrap.sharing import ADDRESS, make_author, read_vocabularies
from waypost.bootstrap.stores import SharingStores, open_sharing_stores
from waypost.bootstrap.visits import open_countries
from waypost.kernel.errors import WaypostError
from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import end
from waypost.roles.kit.health_port import store_probe
from waypost.roles.kit.sockets import HttpServer, address, listen
from waypost.serving.shelf import LiveGeneration, Shelf
from waypost.settings import Settings
from waypost.sharing.links.passwords import fits_password
from waypost.sharing.links.rights import open_edit_tokens
from waypost.sharing.visits.counting import counting
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import SNAPSHOT_OPENED, SNAPSHOT_PLACES
from waypost.web.app import Places, make_app
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.parts import FollowParts
from waypost.web.follow.password_door import PasswordDoor
from waypost.web.http.guard import WriteGuard
from waypost.web.http.proxies import Proxies
from waypost.web.links.parts import LinkParts

if TYPE_CHECKING:
    from waypost.web.http.health import Probe

log = get_logger("serve")

_LOOK_SECONDS = 1.0
_PHRASES_AT_ONCE = 100

OnUp = Callable[[str], None]


class PlacesRole:
    """Keeps the current generation open, and moves to a new one between two requests."""

    def __init__(self, settings: Settings) -> None:
        self.live = LiveGeneration(Shelf(settings.snapshots))
        self.part = Places(
            self.live, settings.serving.box_limit, public_url=settings.web.public_url, cors=settings.web.cors
        )
        self._wrong: WaypostError | None = None

    async def look(self) -> None:
        """Open what is current now. A generation that cannot be opened leaves the old one in service."""
        try:
            if await asyncio.to_thread(self.live.refresh):
                SNAPSHOT_OPENED.labels("ok").inc()
                SNAPSHOT_PLACES.set(self.live.generation.count)
                log.info(
                    "serving a generation", generation=self.live.generation.name, places=self.live.generation.count
                )
                # The map is for ever; what it took to open it should not be looked at by every collection.
                gc.collect()
                gc.freeze()
            self._wrong = None
        except WaypostError as error:
            if str(error) != str(self._wrong):
                SNAPSHOT_OPENED.labels("error").inc()
                log.error("the current generation cannot be opened", error=error.slug, message=str(error))  # noqa: TRY400 - expected, and told
            self._wrong = error

    async def keep_looking(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def probe(self) -> str | None:
        """Ready as long as there is something to serve: one broken generation must not take a whole fleet away."""
        if not self.live.is_open and self._wrong:
            raise self._wrong
        generation = self.live.generation
        return f"still serving {generation.name}: {self._wrong}" if self._wrong else None


@asynccontextmanager
async def follow_parts(settings: Settings, stores: SharingStores) -> AsyncIterator[FollowParts]:
    """What following links needs; visits that are still in the spool at the end are shipped before it closes."""
    countries = open_countries(settings.visits.countries)
    async with counting(settings.visits, settings.spool, stores.facts, stores.visits, countries) as counted:
        yield FollowParts(
            links=stores.links,
            cache=LinkCache(stores.links, settings.redirect, settings.web.public_url, settings.sharing.blocked_hosts),
            observer=counted.observer,
            record=counted.shipper.record,
            record_line=counted.shipper.record_line,
            door=PasswordDoor(fits_password),
            settings=settings.redirect,
            proxies=Proxies(settings.web.proxies),
            public_url=settings.web.public_url,
            home=settings.sharing.home,
        )


@asynccontextmanager
async def link_parts(settings: Settings, stores: SharingStores) -> AsyncIterator[LinkParts]:
    """What all routes of links need."""
    async with follow_parts(settings, stores) as follow:
        vocabularies = read_vocabularies(settings)
        yield LinkParts(
            author=make_author(settings, stores, block=_PHRASES_AT_ONCE, vocabularies=vocabularies),
            links=stores.links,
            visits=stores.visits,
            vocabularies=vocabularies,
            edit_tokens=await open_edit_tokens(stores.facts),
            follow=follow,
        )


Links = Literal["all", "redirects"]


async def serve_role(
    settings: Settings, stop: Stop, on_up: OnUp, *, places: bool, links: Links | None, moves_on: bool
) -> None:
    """`waypost serve places`, `links`, `redirect` or `all`."""
    opening = open_sharing_stores(settings) if links else None
    sock = listen(settings.web.host, settings.web.port, moves_on=moves_on)
    async with AsyncExitStack() as stack:
        stack.callback(sock.close)
        probes: dict[str, Probe] = {}
        place_part: Places | None = None
        made: LinkParts | None = None
        followed: FollowParts | None = None
        guard = WriteGuard(settings.web.host)
        if places:
            role = PlacesRole(settings)
            await role.look()
            await stack.enter_async_context(background(role.keep_looking()))
            place_part, probes["snapshot"] = role.part, role.probe
        if opening:
            stores = await stack.enter_async_context(opening)
            await stores.facts.set(ADDRESS, address(sock))
            probes["store"] = store_probe(stores.facts)
            guard = WriteGuard(settings.web.host, stores.keys)
            if links == "all":
                made = await stack.enter_async_context(link_parts(settings, stores))
            else:
                followed = await stack.enter_async_context(follow_parts(settings, stores))
        app = make_app(
            probes=probes,
            guard=guard,
            places=place_part,
            links=made,
            follow=followed,
        )
        # All of this stays, and should not be looked at by every collection while redirects wait.
        gc.collect()
        gc.freeze()
        await answer(app, sock, stop, on_up)


async def answer(app: ASGIApp, sock: socket.socket, stop: Stop, on_up: OnUp) -> None:
    """Serve until asked to stop."""
    server = HttpServer(app)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    stopping = asyncio.create_task(stop.wait())
    on_up(address(sock))
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.stop()
    await serving


@asynccontextmanager
async def background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await end(task)
