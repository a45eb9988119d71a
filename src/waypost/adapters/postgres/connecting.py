"""Connections to whichever of a PostgreSQL's hosts fits."""

from typing import Any

import asyncpg

from waypost.adapters.postgres.address import Host

# After these errors the next host is tried; a wrong password is wrong everywhere.
_NEXT = (
    OSError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    asyncpg.TargetServerAttributeNotMatched,
)


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
