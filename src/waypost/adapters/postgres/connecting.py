"""Where a PostgreSQL is, by the hosts that its URL names as libpq reads them, and connections to the one that fits."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

import asyncpg

from waypost.adapters.hosts import read_port, show_host, split_host

_DEFAULT_HOST, _DEFAULT_PORT = "localhost", 5432
_TARGET = "target_session_attrs"
# After these errors the next host is tried; a wrong password is wrong everywhere.
_NEXT = (
    OSError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    asyncpg.TargetServerAttributeNotMatched,
)


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


class PostgresConnector:
    """Tries one host after the other, each with a share of the time: one that never answers costs no more.

    The driver does so too, but with one time-out for all of them.
    """

    def __init__(self, dsn: str, hosts: tuple[Host, ...], seconds: float, options: dict[str, Any]) -> None:
        self._dsn = dsn
        self._hosts = list(hosts)
        self._seconds = seconds / len(hosts)
        self._options = options

    async def connect(self, *_pool_arguments: object, **pool_options: Any) -> Any:
        """Connects, for a pool or for a caller without arguments."""
        trouble: Exception | None = None
        for host in list(self._hosts):
            try:
                connection = await self._connect_to(host, pool_options)
            except _NEXT as error:
                trouble = error
            else:
                self._prefer(host)
                return connection
        assert trouble
        raise trouble

    async def _connect_to(self, host: Host, pool_options: dict[str, Any]) -> Any:
        options = self._options | pool_options
        return await asyncpg.connect(self._dsn, host=host.name, port=host.port, timeout=self._seconds, **options)

    def _prefer(self, host: Host) -> None:
        """Puts the host that fitted last first, so that a host that is gone does not hold up each connection."""
        self._hosts.remove(host)
        self._hosts.insert(0, host)
