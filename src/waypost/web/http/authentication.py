"""Who asks: a caller with a key, this machine, or neither. Being on this machine is not enough to speak for it.

A web page that is open in a browser here can send requests to loopback too. So the Host must be a loopback name (a
rebound DNS name is not), an Origin must be our own, the content type of what is written must be one that no plain form
can send, and a request that came through a proxy is not from this machine.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from fastapi import Request

from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.key_ring import KeyRing
from waypost.access.keys import KeyRefused, Scope
from waypost.kernel.errors import AskedWrongly, Forbidden

JSON = "application/json"

_FORWARDED = ("forwarded", "x-real-ip", "via", "cf-connecting-ip", "true-client-ip")
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
KEY_HEADERS = (b"authorization", b"x-api-key")
KEY_IN_ADDRESS = re.compile(rb"wp(_|%5f)[0-9a-f]{12}(_|%5f)[a-z0-9_%-]{20}", re.IGNORECASE)


class LoopbackOnly(Forbidden):
    """Without a key, this is for this machine alone."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; without a key this is for this machine alone: send one as Authorization: Bearer wp_…")


class ScopeMissing(Forbidden):
    """The key is known, but lacks the scope."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(
            f"this key lacks the scope {scope}; use one that has it, made with: waypost key create NAME --scope {scope}"
        )


class KeyInAddress(AskedWrongly):
    """There is a key in the address, where logs and browsers keep it."""


class SeveralKeys(AskedWrongly):
    """More than one key was sent, and they differ."""


class UnsupportedContentType(AskedWrongly):
    http_status = 415


@dataclass(frozen=True)
class Asker:
    """The sender of a request, with what they showed. `refusal` says why they do not speak for this machine."""

    caller: Caller
    edit_token: str | None = None
    refusal: LoopbackOnly | None = None

    def needs(self, scope: Scope) -> None:
        """Raises LoopbackOnly or ScopeMissing unless the caller has the scope."""
        if not self.caller.allows(scope):
            raise self.refusal or ScopeMissing(scope)


class WriteGuard:
    """Guards the address we listen on: beyond loopback, only a key opens anything."""

    def __init__(self, listening_host: str, keys: KeyRing | None = None) -> None:
        self.writable = is_loopback(listening_host)
        self.keys = keys

    async def __call__(self, request: Request, *, from_memory: bool = False) -> Asker:
        """Raises KeyRefused or KeyExpired for a key that opens nothing: it is not as if none had been sent."""
        edit_token = request.headers.get("x-edit-token")
        key = _read_key(request)
        if key is not None:
            if self.keys is None:
                raise KeyRefused
            return Asker(await self.keys.recognise(key, from_memory=from_memory), edit_token)
        try:
            self.check_local(request)
        except LoopbackOnly as refusal:
            return Asker(ANONYMOUS, edit_token, refusal)
        return Asker(LOCAL, edit_token)

    def check_local(self, request: Request) -> None:
        """Raises LoopbackOnly unless the request speaks for this machine."""
        if not self.writable:
            raise LoopbackOnly("this server listens beyond loopback")
        if request.client is None or not is_loopback(request.client.host):
            raise LoopbackOnly("this request came from another machine")
        if any(header in _FORWARDED or header.startswith("x-forwarded-") for header in request.headers):
            raise LoopbackOnly("this request came through a proxy")
        host = request.headers.get("host", "")
        if not is_loopback(_host_name(host)):
            raise LoopbackOnly("the Host header names another machine (use localhost or 127.0.0.1)")
        origin = request.headers.get("origin")
        is_foreign = origin is not None and origin != f"{request.url.scheme}://{host}"
        if is_foreign or request.headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            raise LoopbackOnly("another web page sent this request")


def check_content_type(request: Request, *taken: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in taken:
        raise UnsupportedContentType(f"send {' or '.join(taken)}", parameter="Content-Type")


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


def _read_key(request: Request) -> str | None:
    if KEY_IN_ADDRESS.search(request.scope["query_string"]) or KEY_IN_ADDRESS.search(request.scope["raw_path"]):
        raise KeyInAddress(
            "there is a key in the address, where logs keep it: revoke it, and send the next one in the header"
            " Authorization"
        )
    keys = {bearer_token(each) for each in request.headers.getlist("authorization")} | {
        *request.headers.getlist("x-api-key")
    }
    if len(keys) > 1:
        raise SeveralKeys("there are several keys in the request, and they differ: send one")
    return next(iter(keys), None)


def bearer_token(header: str) -> str:
    """The token; for another scheme an empty one, which is refused like any key that is not ours."""
    found = _BEARER.fullmatch(header.strip())
    return found[1] if found else ""
