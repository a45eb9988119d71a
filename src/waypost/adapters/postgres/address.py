"""Where a PostgreSQL is: the hosts that its URL names, as libpq reads them."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from waypost.adapters.hosts import read_port, show_host, split_host

_DEFAULT_HOST, _DEFAULT_PORT = "localhost", 5432
_TARGET = "target_session_attrs"


@dataclass(frozen=True)
class Host:
    """None where the URL says nothing: the driver looks in PGHOST and PGPORT, and then uses the defaults."""

    name: str | None
    port: int | None

    def __str__(self) -> str:
        return show_host(self.name or _DEFAULT_HOST, self.port or _DEFAULT_PORT)


@dataclass(frozen=True)
class PostgresAddress:
    hosts: tuple[Host, ...]
    database: str
    # The URL without its hosts.
    dsn: str = field(repr=False)

    @property
    def name(self) -> str:
        """What a message may call the database: no user and no password."""
        return f"{','.join(map(str, self.hosts))}/{self.database}"


def read_address(url: str) -> tuple[PostgresAddress, dict[str, str]]:
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
        # Whatever we do, we also write: of several hosts, the primary is meant.
        parameters.setdefault(_TARGET, "read-write")
    secret = user.replace("@", "%40") + at
    return PostgresAddress(hosts, database, f"{scheme}://{secret}/{database}"), parameters


def with_parameters(address: PostgresAddress, parameters: dict[str, str]) -> str:
    """The URL for the driver, which is given the host separately."""
    return f"{address.dsn}?{urlencode(parameters)}" if parameters else address.dsn


def _read_hosts(text: str) -> tuple[list[str], list[str]]:
    pairs = [split_host(part) for part in text.split(",")]
    return [name for name, _ in pairs], [port for _, port in pairs]


def _pair(names: list[str], ports: list[str]) -> tuple[Host, ...]:
    if len(ports) == 1:
        ports = ports * len(names)
    pairs = zip(names, ports, strict=True)
    return tuple(Host(name or None, read_port(port) if port else None) for name, port in pairs)
