"""What can be set about serving over HTTP."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from waypost.kernel.configuration import setting
from waypost.kernel.quantities import parse_count


def parse_public_url(text: str) -> str:
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc):
        raise ValueError("this is not an address; write it like https://go.example.org, without a password in it")
    return text.rstrip("/")


def parse_origins(text: str) -> tuple[str, ...]:
    origins = tuple(part.strip() for part in text.split(",") if part.strip())
    for origin in origins:
        parts = urlsplit(origin)
        if origin != "*" and (parts.scheme not in {"http", "https"} or origin != f"{parts.scheme}://{parts.netloc}"):
            raise ValueError(f"{origin[:80]!r} is not an origin; write it like https://map.example.org, or * for all")
    return origins


@dataclass(frozen=True)
class WebSettings:
    # Not called WAYPOST_PORT: Kubernetes sets that for a Service called waypost, to something that is no port.
    host: str = setting("listen.host", "127.0.0.1", explain="address to listen on; beyond loopback all is read-only")
    port: int = setting(
        "listen.port", "8080", parse=parse_count(0, 65535), explain="port to listen on; 0 takes a free one"
    )
    health_port: int = setting(
        "health_port",
        "0",
        parse=parse_count(0, 65535),
        explain="port for health and metrics of roles that serve nothing else; 0 is off",
    )
    public_url: str = setting(
        "public_url", "", parse=parse_public_url, explain="how links look from outside; from the request when empty"
    )
    cors: tuple[str, ...] = setting(
        "cors",
        "",
        parse=parse_origins,
        explain="origins whose web pages may read places, such as https://map.example.org; * for all",
    )
