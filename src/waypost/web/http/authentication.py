"""Who asks: a caller with a key, this machine, or neither."""

import re
from dataclasses import dataclass

from fastapi import Request

from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.key_ring import KeyRing
from waypost.access.keys import KeyRefused, Scope
from waypost.kernel.errors import AskedWrongly, Forbidden
from waypost.web.http.local_trust import LocalTrust, LoopbackOnly

JSON = "application/json"

_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)
KEY_HEADERS = (b"authorization", b"x-api-key")
KEY_IN_ADDRESS = re.compile(rb"wp(_|%5f)[0-9a-f]{12}(_|%5f)[a-z0-9_%-]{20}", re.IGNORECASE)


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
    """Tells callers apart. `writable` says whether a key may be left out at all, on this machine."""

    def __init__(self, trust: LocalTrust, keys: KeyRing | None = None) -> None:
        self._trust = trust
        self.keys = keys

    @property
    def writable(self) -> bool:
        return self._trust.distrust is None

    async def __call__(self, request: Request, *, from_memory: bool = False) -> Asker:
        """Raises KeyRefused or KeyExpired for a key that opens nothing: it is not as if none had been sent."""
        edit_token = request.headers.get("x-edit-token")
        key = _read_key(request)
        if key is not None:
            if self.keys is None:
                raise KeyRefused
            return Asker(await self.keys.recognise(key, from_memory=from_memory), edit_token)
        try:
            await self._trust.check(request)
        except LoopbackOnly as refusal:
            return Asker(ANONYMOUS, edit_token, refusal)
        return Asker(LOCAL, edit_token)


def check_content_type(request: Request, *taken: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in taken:
        raise UnsupportedContentType(f"send {' or '.join(taken)}", parameter="Content-Type")


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
