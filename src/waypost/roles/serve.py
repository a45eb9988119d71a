"""The serving roles: places from the current generation, links and their redirects, or everything on one port.

In order: the socket, the places (roles/kit/snapshot_watcher.py), the links (roles/kit/link_parts_assembly.py), the app
that answers for both (web/app.py), and uvicorn in front of it (roles/kit/http_server.py).
"""

import gc
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Literal

from waypost.bootstrap.keys import open_key_ring
from waypost.bootstrap.sharing import ADDRESS
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.stopping import Stop
from waypost.kernel.tasks import background
from waypost.roles.kit.file_limit import room_for_connections
from waypost.roles.kit.health_port import store_probe
from waypost.roles.kit.http_server import OnUp, address, answer, listen
from waypost.roles.kit.link_parts_assembly import follow_parts, link_parts
from waypost.roles.kit.snapshot_watcher import SnapshotWatcher
from waypost.settings import Settings
from waypost.web.app import Places, make_app
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.health import softened
from waypost.web.http.local_trust import LocalTrust
from waypost.web.http.open_connections import ConnectionLimits

if TYPE_CHECKING:
    from waypost.access.store import KeyStore
    from waypost.web.follow.route_dependencies import FollowParts
    from waypost.web.http.health import Probe
    from waypost.web.links.route_dependencies import LinkParts

Links = Literal["all", "redirects"]


async def serve_role(
    settings: Settings, stop: Stop, on_up: OnUp, *, places: bool, links: Links | None, moves_on: bool
) -> None:
    """`waypost serve places`, `links`, `redirect` or `all`."""
    # Where places are closed, keys open them: those of the store, and those that are configured.
    needs_keys = links is not None or not settings.web.places_open
    opening = open_sharing_stores(settings) if links or (needs_keys and not settings.storage.in_mongodb) else None
    sock = listen(settings.web.host, settings.web.port, moves_on=moves_on)
    async with AsyncExitStack() as stack:
        stack.callback(sock.close)
        probes: dict[str, Probe] = {}
        place_part: Places | None = None
        made: LinkParts | None = None
        followed: FollowParts | None = None
        if places:
            watcher = SnapshotWatcher(settings)
            await watcher.look()
            await stack.enter_async_context(background(watcher.keep_looking()))
            place_part, probes["snapshot"] = watcher.part, watcher.probe
        keys: KeyStore | None = None
        if opening:
            stores = await stack.enter_async_context(opening)
            keys, probe = stores.keys, store_probe(stores.facts)
            goes_on = "links are followed from memory" if links else "keys are known from memory"
            probes["store"] = probe if links == "all" else softened(probe, goes_on)
            if links:
                await stores.facts.set(ADDRESS, address(sock))
            if links == "all":
                made = await stack.enter_async_context(link_parts(settings, stores))
            elif links:
                followed = await stack.enter_async_context(follow_parts(settings, stores))
        ring = await stack.enter_async_context(open_key_ring(settings.keys, keys)) if needs_keys else None
        app = make_app(
            probes=probes,
            guard=WriteGuard(LocalTrust.of(settings.web), ring),
            places=place_part,
            links=made,
            follow=followed,
        )
        # Everything so far stays, and garbage collections should not go through it while redirects wait.
        gc.collect()
        gc.freeze()
        limits = ConnectionLimits.of(settings.web, room_for_connections(settings.web.connections))
        await answer(app, sock, stop, on_up, limits)
