"""A server of redirects without its socket, on the store that a laptop has, with visits that can be looked at."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import msgspec

from support.asking import ask
from support.links import a_link
from waypost.bootstrap.stores import SharingStores, open_sharing_stores
from waypost.kernel.clock import utc_now
from waypost.settings import load_settings
from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkStore
from waypost.sharing.visits.day_keys import DayKeys
from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer
from waypost.web.app import App, make_app
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.password_checking import PasswordChecker
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.authentication import WriteGuard

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


class Watched:
    """A store of links that says how often it was asked, and can be away."""

    def __init__(self, links: LinkStore) -> None:
        self._links = links
        self.asked: list[str] = []
        self.trouble: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._links, name)

    async def find_many(self, phrases: Sequence[str]) -> Sequence[Link | None]:
        self.asked += phrases
        if self.trouble:
            raise self.trouble
        return await self._links.find_many(phrases)


@dataclass
class Host:
    """What a test may look at beside the answers."""

    app: App
    stores: SharingStores
    links: Watched
    cache: LinkCache
    visits: list[Visit] = field(default_factory=list)
    made: int = 0

    async def add(self, phrase: str = "gently-golden-otter", **more: Any) -> Link:
        self.made += 1
        link = a_link(phrase, self.made, **more)
        await self.stores.links.add(link, "test")
        self.cache.invalidate(phrase)
        return link

    async def edit(self, link: Link, **changes: Any) -> Link:
        """As whoever edits links in this process does it."""
        edited = msgspec.structs.replace(link, version=link.version + 1, updated_at=utc_now(), **changes)
        await self.stores.links.edit(edited, "test")
        self.cache.invalidate(link.phrase)
        return edited

    async def get(self, path: str, *, method: str = "GET", agent: str = BROWSER, **more: Any) -> httpx.Response:
        headers = {"user-agent": agent, **more.pop("headers", {})}
        return await ask(self.app, method, path, headers=headers, **more)

    async def post(self, path: str, data: Mapping[str, str], **more: Any) -> httpx.Response:
        return await ask(self.app, "POST", path, data=data, **more)


@asynccontextmanager
async def host(
    folder: Path,
    *,
    flags: Mapping[str, str] | None = None,
    verify: Callable[[str, str], bool] = lambda hashed, password: hashed == password,
    **more: Any,
) -> AsyncIterator[Host]:
    """`flags` are settings, `more` what FollowParts takes. Hashes of passwords are the passwords, unless said."""
    settings = load_settings({"data": str(folder), **(flags or {})}, environ={})
    async with open_sharing_stores(settings) as stores:
        keys = DayKeys(stores.facts)
        await keys.renew(utc_now().date())
        links = Watched(stores.links)
        visits: list[Visit] = []
        cache = LinkCache(links, settings.redirect, blocked=settings.sharing.blocked_hosts)
        parts = FollowParts(
            links=links,
            reports=stores.reports,
            blocks=LiveBlocks(stores.blocks, settings.sharing.blocked_hosts, cache.block),
            cache=cache,
            observer=Observer(keys),
            record=visits.append,
            record_line=lambda line: visits.append(msgspec.json.decode(line, type=Visit)),
            passwords=PasswordChecker(verify, pause=0),
            settings=settings.redirect,
        )
        parts = replace(parts, **more)
        app = make_app(probes={}, guard=WriteGuard("127.0.0.1"), follow=parts)
        yield Host(app, stores, links, parts.cache, visits)
