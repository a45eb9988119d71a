"""A request for places, reduced to what its answer depends on."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from waypost.kernel.host_header import host_name


class PlaceRequest(msgspec.Struct):
    query: bytes
    headers: Mapping[bytes, bytes]
    scheme: str
    public_url: str
    # Whether the answer is for this caller alone, because places are closed.
    is_private: bool = False

    @property
    def base(self) -> str:
        """How this server is reached from outside; empty without a Host, so that links are relative."""
        return self.public_url or _origin(self.scheme, self.headers.get(b"host", b""))

    def address(self, path: str, **more: str | int) -> str:
        """The address of a path with the request's parameters; those in `more` replace any of the same name."""
        kept = self.query.decode("utf-8", "replace")
        if more:
            others = [part for part in kept.split("&") if part and part.partition("=")[0] not in more]
            # Ours are names and numbers, in which nothing needs to be quoted.
            kept = "&".join((*others, *(f"{name}={value}" for name, value in more.items())))
        return f"{self.base}{path}?{kept}" if kept else self.base + path


@lru_cache(64)
def _origin(scheme: str, host: bytes) -> str:
    text = host.decode("latin-1")
    return f"{scheme}://{text}" if host_name(text) else ""
