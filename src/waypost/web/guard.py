"""Who may write: without a key, only this machine, and being on this machine is not enough.

A web page that is open in a browser here can send requests to loopback too. So the Host must be a loopback name (a
rebound DNS name is not), an Origin must be our own, the content type must be one that no plain form can send, and a
request that came through a proxy is not from this machine.
"""

import ipaddress
from urllib.parse import urlsplit

from fastapi import Request

from waypost.kernel.errors import AskedWrongly, Forbidden

_FORWARDED = ("forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip")


class LoopbackOnly(Forbidden):
    """Writing without a key is for this machine alone."""

    slug = "loopback-only"


class UnsupportedContentType(AskedWrongly):
    slug = "unsupported-content-type"
    http_status = 415


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_name(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


class WriteGuard:
    """Made for an address that is listened on: beyond loopback nothing can be written."""

    def __init__(self, listening_host: str) -> None:
        self.writable = is_loopback(listening_host)

    async def __call__(self, request: Request) -> None:
        if not self.writable:
            raise LoopbackOnly(
                "this server listens beyond loopback, so it is read-only: writing needs API keys, which come later"
            )
        if request.client is None or not is_loopback(request.client.host):
            raise LoopbackOnly("writing without a key is for this machine alone")
        if any(header in _FORWARDED or header.startswith("x-forwarded-") for header in request.headers):
            raise LoopbackOnly("this request came through a proxy; writing without a key is for this machine alone")
        host = request.headers.get("host", "")
        if not is_loopback(_host_name(host)):
            raise LoopbackOnly("the Host header names another machine; use localhost or 127.0.0.1")
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{host}":
            raise LoopbackOnly("another web page sent this request")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise UnsupportedContentType("send application/json", parameter="Content-Type")
