"""The client's address where proxies stand in front of us: only what our own proxies say is believed.

Each proxy appends the address it saw to what it was told. So the last address that is not one of our proxies' is the
client's; whatever stands before it, the client may have invented.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from fastapi import Request

from waypost.web.http.encoded_headers import Header
from waypost.web.settings import Network

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_FOR = re.compile(r'(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]*)', re.IGNORECASE)
# No chain of ours is longer; what a client wrote before it need not be looked at.
_MOST_HOPS = 32
# A provider gives each customer as many addresses as there are below these bits, if not more.
_CLIENT_BITS = 64
_LISTS = (b"x-forwarded-for", b"forwarded")


def by_name(headers: Iterable[Header]) -> dict[bytes, bytes]:
    """Headers by name. The last of each name counts, but lines that proxies may each add are joined into one list."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = found[name] + b"," + value if name in _LISTS and name in found else value
    return found


class Proxies:
    """Our proxies: the addresses in these networks."""

    def __init__(self, networks: tuple[Network, ...] = ()) -> None:
        self._networks = networks
        self.is_ours = lru_cache(1024)(self._look_up)

    def client_of(self, request: Request, asked: Mapping[bytes, bytes]) -> str:
        return self.client(request.client.host if request.client else "", asked)

    def client(self, peer: str, asked: Mapping[bytes, bytes]) -> str:
        """The address that a request came from; `peer` is the address that is connected to us."""
        if not self.is_ours(peer):
            return peer
        client = peer
        for hop in _hops(asked):
            if hop is None:
                break
            client = hop
            if not self.is_ours(hop):
                break
        return client

    def _look_up(self, text: str) -> bool:
        address = _parse(text) if self._networks else None
        return address is not None and any(address in network for network in self._networks)


@lru_cache(1024)
def client_network(peer: str) -> str:
    """What one client has to itself: an address, and with IPv6 the 64 bits before it too."""
    address = _parse(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _CLIENT_BITS), strict=False))
    return peer if address is None else str(address)


def _hops(asked: Mapping[bytes, bytes]) -> Iterator[str | None]:
    """The addresses of the hops, nearest first; None for a hop that does not say its address."""
    forwarded_for = asked.get(b"x-forwarded-for")
    written = forwarded_for if forwarded_for is not None else asked.get(b"forwarded", b"")
    for hop in reversed(written.decode("latin-1").rsplit(",", _MOST_HOPS)[-_MOST_HOPS:]):
        if forwarded_for is None:
            found = _FOR.search(hop)
            address = _parse(found[1].strip('"')) if found else None
        else:
            address = _parse(hop)
        yield str(address) if address else None


def _parse(text: str) -> _Address | None:
    """Reads an address, also with a port after it, as some proxies write it."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
