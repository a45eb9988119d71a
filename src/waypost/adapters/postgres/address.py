"""Where a PostgreSQL is: the hosts that its URL names, as libpq reads them."""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode

_DEFAULT_HOST, _DEFAULT_PORT = "localhost", 5432
_TARGET = "target_session_attrs"
_MOST_PORTS = 65535


@dataclass(frozen=True)
class Host:
    """None where the URL says nothing: the driver looks in PGHOST and PGPORT, and then where everybody does."""

    name: str | None
    port: int | None

    def __str__(self) -> str:
        name = self.name or _DEFAULT_HOST
        return f"[{name}]:{self.port or _DEFAULT_PORT}" if ":" in name else f"{name}:{self.port or _DEFAULT_PORT}"


@dataclass(frozen=True)
class Address:
    hosts: tuple[Host, ...]
    database: str
    # The URL without its hosts.
    dsn: str = field(repr=False)

    @property
    def name(self) -> str:
        """What a message may call the database: no user and no password."""
        return f"{','.join(map(str, self.hosts))}/{self.database}"


def read_address(url: str) -> tuple[Address, dict[str, str]]:
    """The address in a URL, and the parameters of its query that are not part of it.

    Raises ValueError, whose text may have the password in it.
    """
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    authority, _, database = rest.partition("/")
    user, at, there = authority.rpartition("@")
    parameters = dict(parse_qsl(query, keep_blank_values=True))
    names, ports = _read_hosts(there)
    if given := parameters.pop("host", ""):
        names = given.split(",")
    if given := parameters.pop("port", ""):
        ports = given.split(",")
    hosts = _pair(names, ports)
    if len(hosts) > 1:
        # Whatever we do, we also write: of several, the primary is meant.
        parameters.setdefault(_TARGET, "read-write")
    secret = user.replace("@", "%40") + at
    return Address(hosts, database, f"{scheme}://{secret}/{database}"), parameters


def with_parameters(address: Address, parameters: dict[str, str]) -> str:
    """The URL for the driver, which is told the host apart."""
    return f"{address.dsn}?{urlencode(parameters)}" if parameters else address.dsn


def _read_hosts(text: str) -> tuple[list[str], list[str]]:
    pairs = [_read_host(part) for part in text.split(",")]
    return [name for name, _ in pairs], [port for _, port in pairs]


def _read_host(text: str) -> tuple[str, str]:
    found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*))(?::([^:]*))?", text)
    if found is None:
        raise ValueError("not a host with a port")
    return unquote(found[1] or found[2] or ""), unquote(found[3] or "")


def _pair(names: list[str], ports: list[str]) -> tuple[Host, ...]:
    if len(ports) == 1:
        ports = ports * len(names)
    return tuple(Host(name or None, _read_port(port)) for name, port in zip(names, ports, strict=True))


def _read_port(text: str) -> int | None:
    if not text:
        return None
    port = int(text)
    if not 0 < port <= _MOST_PORTS:
        raise ValueError("not a port")
    return port
