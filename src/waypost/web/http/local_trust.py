"""Whether a request speaks for this machine, which needs no key. Being on this machine is not enough for that.

A web page that is open in a browser here can send requests to loopback too. So the Host must be a loopback name (a
rebound DNS name is not), an Origin must be our own, and the content type of what is written must be one that no plain
form can send. A proxy that stands here passes strangers on, and may leave no trace of it. So a server that is meant for
others trusts nobody, and neither does one that has seen a proxy, nor do requests of other users' processes count.
"""

import asyncio
import ipaddress
from collections.abc import Callable
from typing import Self
from urllib.parse import urlsplit

from fastapi import Request

from waypost.kernel.errors import Forbidden
from waypost.kernel.host_header import host_name, is_foreign, is_loopback
from waypost.telemetry.logs import get_logger
from waypost.web.http.peer_user import End, is_own_user
from waypost.web.settings import WebSettings

log = get_logger("web")

_FORWARDED = ("forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip")
_LOOPBACKS = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_BEYOND_LOOPBACK = "this server listens beyond loopback"


class LoopbackOnly(Forbidden):
    """Without a key, this is for this machine alone."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; without a key this is for this machine alone: send one as Authorization: Bearer wp_…")


class LocalTrust:
    """`distrust` says why no request speaks for this machine; None if some may."""

    def __init__(self, distrust: str | None = None, is_ours: Callable[[End, End], bool] | None = None) -> None:
        self.distrust = distrust
        self._is_ours = is_ours

    @classmethod
    def of(cls, settings: WebSettings) -> Self:
        return cls(_why_nobody(settings), is_own_user)

    @classmethod
    def on(cls, listening_host: str) -> Self:
        """For a server without a socket of its own, whose clients are not processes."""
        return cls(None if is_loopback(listening_host) else _BEYOND_LOOPBACK)

    async def check(self, request: Request) -> None:
        """Raises LoopbackOnly unless the request speaks for this machine."""
        self._look_for_proxy(request)
        if self.distrust:
            raise LoopbackOnly(self.distrust)
        _check_headers(request)
        client, server = request.client, request.scope.get("server")
        if self._is_ours and not (client and server and await asyncio.to_thread(self._is_ours, client, server)):
            raise LoopbackOnly("this request came from another user's process, such as a proxy")

    def _look_for_proxy(self, request: Request) -> None:
        """A proxy that tells of itself in some requests may not in others: one such request is enough."""
        if self.distrust is None and _was_forwarded(request):
            self.distrust = "this request, or one before it, came through a proxy"
            log.warning("a proxy is in front of this server: without a key, nobody is taken for this machine any more")


def _why_nobody(settings: WebSettings) -> str | None:
    if not settings.keyless:
        return "listen.keyless is off"
    if not is_loopback(settings.host):
        return _BEYOND_LOOPBACK
    if settings.public_url and not is_loopback(urlsplit(settings.public_url).hostname or ""):
        return "this server has a public address (public_url)"
    if any(
        network.version == ours.version and network.overlaps(ours)
        for network in settings.proxies
        for ours in _LOOPBACKS
    ):
        return "a proxy stands on this machine (listen.proxies)"
    return None


def _check_headers(request: Request) -> None:
    if request.client is None or not is_loopback(request.client.host):
        raise LoopbackOnly("this request came from another machine")
    if request.scope["http_version"] == "1.0":
        # nginx speaks it to the servers behind it unless it is told otherwise, and hardly anybody else does.
        raise LoopbackOnly("this request came in HTTP/1.0, as through a proxy")
    if not is_loopback(host_name(request.headers.get("host", "")) or ""):
        raise LoopbackOnly("the Host header names another machine (use localhost or 127.0.0.1)")
    if is_foreign(request.headers, request.url.scheme):
        raise LoopbackOnly("another web page sent this request")


def _was_forwarded(request: Request) -> bool:
    return any(header in _FORWARDED or header.startswith("x-forwarded-") for header in request.headers)
