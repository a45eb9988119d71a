"""Which web pages of other sites may read places; links are never theirs to read or make."""

from collections.abc import Mapping

from starlette.types import Scope

from waypost.web.http.encoded_headers import Header

Headers = tuple[Header, ...]

_OPEN = ("/", "/v1/places", "/collections", "/conformance", "/openapi.json")
# With the slash: a phrase may begin like them.
_BELOW = ("/v1/places/", "/collections/", "/tiles/")
_WANTED = b"access-control-request-method"
_EXPOSED = b"ETag, Content-Length"
_PREFLIGHT: Headers = (
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"Authorization, If-None-Match, X-API-Key"),
    (b"access-control-max-age", b"86400"),
    (b"content-length", b"0"),
)


def is_reading(scope: Scope, asked: Mapping[bytes, bytes]) -> bool:
    """Whether a request reads, or asks beforehand whether it may."""
    method = asked.get(_WANTED, b"OPTIONS") if scope["method"] == "OPTIONS" else scope["method"].encode()
    return method in {b"GET", b"HEAD", b"OPTIONS"}


class Cors:
    """Lets these origins, such as https://map.example.org, read places: all origins with `*`, none when empty."""

    def __init__(self, origins: tuple[str, ...]) -> None:
        self._all = "*" in origins
        self.is_open = bool(origins)
        self._origins = {origin.encode() for origin in origins}

    def headers(self, path: str, asked: Mapping[bytes, bytes]) -> Headers:
        if not self.is_open or not (path in _OPEN or path.startswith(_BELOW)):
            return ()
        if self._all:
            return (b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", _EXPOSED)
        origin = asked.get(b"origin", b"")
        if origin not in self._origins:
            return ((b"vary", b"Origin"),)
        return (
            (b"vary", b"Origin"),
            (b"access-control-allow-origin", origin),
            (b"access-control-expose-headers", _EXPOSED),
        )

    def preflight(self, scope: Scope, asked: Mapping[bytes, bytes]) -> Headers | None:
        """The headers for a browser that asks beforehand; None if it does not, or may not read."""
        if scope["method"] != "OPTIONS" or _WANTED not in asked or not is_reading(scope, asked):
            return None
        allowed = self.headers(scope["path"], asked)
        return _PREFLIGHT if any(name == b"access-control-allow-origin" for name, _ in allowed) else None
