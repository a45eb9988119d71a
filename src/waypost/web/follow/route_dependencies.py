"""What the routes that follow links depend on: stores, caches and settings."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import Request

from waypost.sharing.blocks.live import LiveBlocks
from waypost.sharing.links.store import LinkStore
from waypost.sharing.reports.store import ReportStore
from waypost.sharing.visits.visit import Visit
from waypost.sharing.visits.visitors import Observer
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.password_checking import PasswordChecker
from waypost.web.http.proxies import Proxies
from waypost.web.settings import RedirectSettings


@dataclass(frozen=True)
class FollowParts:
    links: LinkStore
    reports: ReportStore
    blocks: LiveBlocks
    cache: LinkCache
    observer: Observer
    # Writes a visit down; `record_line` takes one that is a line of the spool already.
    record: Callable[[Visit], None]
    record_line: Callable[[bytes], None]
    passwords: PasswordChecker
    settings: RedirectSettings
    proxies: Proxies = field(default_factory=Proxies)
    # How links begin, seen from outside; taken from the request when empty.
    public_url: str = ""
    # Where `/` leads on a server that only redirects.
    home: str = ""

    def base_url(self, request: Request) -> str:
        """How links begin, without a slash at the end."""
        return (self.public_url or str(request.base_url)).rstrip("/")
