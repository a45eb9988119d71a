"""What can be set about serving over HTTP."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from waypost.kernel.configuration import setting
from waypost.kernel.host_header import host_name
from waypost.kernel.quantities import parse_count, parse_duration, parse_switch

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def parse_public_url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not host_name(parts.netloc)):
        raise ValueError("this is not an address; write it like https://go.example.org, without a password in it")
    return text.rstrip("/")


def parse_origins(text: str) -> tuple[str, ...]:
    origins = tuple(part.strip() for part in text.split(",") if part.strip())
    for origin in origins:
        parts = urlsplit(origin)
        is_web = parts.scheme in {"http", "https"} and host_name(parts.netloc) is not None
        if origin != "*" and (not is_web or origin != f"{parts.scheme}://{parts.netloc}"):
            raise ValueError(f"{origin[:80]!r} is not an origin; write it like https://map.example.org, or * for all")
    return origins


def parse_networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise ValueError(f"{error}; write networks like 10.0.0.0/8, or addresses, with commas between them") from None


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(choices)}")
        return text

    return read


def _parse_status(text: str) -> int:
    return int(_one_of("302", "301", "307", "308")(text))


def _parse_age(text: str) -> int:
    return 0 if text.strip() == "0" else round(parse_duration(text))


@dataclass(frozen=True)
class RedirectSettings:
    """How links are followed."""

    status: int = setting("redirect.status", "302", "302, 301, 307 or 308", _parse_status)
    browser_cache: int = setting(
        "redirect.browser_cache",
        "0",
        "how long a browser may keep a redirect; it then neither counts visits nor notices changes",
        _parse_age,
    )
    fresh: float = setting(
        "redirect.fresh",
        "30s",
        "how long a link is followed from memory; what another process changes is noticed after this time",
        parse_duration,
    )
    kept: float = setting(
        "redirect.kept", "10m", "how long a link is still followed from memory while the store is away", parse_duration
    )
    unknown: float = setting(
        "redirect.unknown", "5s", "how long it is remembered that no link has a phrase", parse_duration
    )
    most: int = setting(
        "redirect.most", "50000", "most links that a process keeps in memory", parse_count(1, 10_000_000)
    )
    robots: Literal["allow", "deny"] = setting(
        "redirect.robots",
        "allow",
        "whether robots.txt lets crawlers follow links; they are asked not to list them either way",
        _one_of("allow", "deny"),
    )


@dataclass(frozen=True)
class WebSettings:
    # Not called WAYPOST_PORT: Kubernetes sets that for a Service called waypost, to something that is not a port.
    host: str = setting("listen.host", "127.0.0.1", "address to listen on; beyond loopback writing needs a key")
    port: int = setting("listen.port", "8080", "port to listen on; 0 takes a free one", parse_count(0, 65535))
    health_port: int = setting(
        "health_port",
        "0",
        "port for health and metrics of roles that serve nothing else; 0 is off",
        parse_count(0, 65535),
    )
    public_url: str = setting(
        "public_url", "", "how links look from outside; from the request when empty", parse_public_url
    )
    proxies: tuple[Network, ...] = setting(
        "listen.proxies",
        "",
        "networks of proxies in front of us, whose X-Forwarded-For or Forwarded is believed; none when empty",
        parse_networks,
    )
    keyless: bool = setting(
        "listen.keyless", "on", "whether requests that speak for this machine need no key", parse_switch
    )
    places_open: bool = setting(
        "places.open", "on", "off: places are for this machine and for callers with a key alone", parse_switch
    )
    connections: int = setting(
        "listen.connections",
        "16000",
        "most open connections; for a new one, that which has waited for its client the longest is closed",
        parse_count(10, 1_000_000),
    )
    connections_per_client: int = setting(
        "listen.connections_per_client",
        "4000",
        "most open connections of one client, which is an address, or 2^64 of IPv6; listen.proxies may have more",
        parse_count(10, 1_000_000),
    )
    keep_alive: float = setting(
        "listen.keep_alive",
        "75s",
        "how long a connection stays open without a request; a balancer in front should close its own sooner",
        parse_duration,
    )
    cors: tuple[str, ...] = setting(
        "cors", "", "origins whose web pages may read places, such as https://map.example.org; * for all", parse_origins
    )
