"""Health and metrics for roles that serve nothing else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from waypost.scaling.fact_store import Facts
from waypost.scaling.jobs.store import JobStore
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger

log = get_logger("health")

_MOST_CONNECTIONS = 200
_SOME_FACT = "address"
_SOME_JOB = "waypost/probe"


@asynccontextmanager
async def health_port(settings: Settings, facts: Facts, jobs: JobStore) -> AsyncIterator[None]:
    """Runs a small server beside a role if WAYPOST_HEALTH_PORT asks for one; it is ready while the store answers, and
    the store of its jobs, if they are kept apart.

    The web framework is loaded only then: loading it would be most of a worker's start.
    """
    if not settings.web.health_port:
        yield
        return
    from waypost.roles.kit.http_server import HttpServer, address, listen  # noqa: PLC0415 - as above
    from waypost.web.app import make_app  # noqa: PLC0415 - as above
    from waypost.web.http.authentication import WriteGuard  # noqa: PLC0415 - as above
    from waypost.web.http.local_trust import LocalTrust  # noqa: PLC0415 - as above
    from waypost.web.http.open_connections import ConnectionLimits  # noqa: PLC0415 - as above

    with listen(settings.web.host, settings.web.health_port, moves_on=False) as sock:
        probes = {"store": store_probe(facts)}
        if settings.storage.jobs:
            probes["jobs"] = jobs_probe(jobs)
        app = make_app(probes=probes, guard=WriteGuard(LocalTrust.of(settings.web)))
        server = HttpServer(app, ConnectionLimits(most=_MOST_CONNECTIONS))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        log.info("health and metrics", address=address(sock))
        try:
            yield
        finally:
            server.stop()
            await serving


def store_probe(facts: Facts) -> Callable[[], Awaitable[None]]:
    """Fails while the store does not answer."""

    async def probe() -> None:
        await facts.get(_SOME_FACT)

    return probe


def jobs_probe(jobs: JobStore) -> Callable[[], Awaitable[None]]:
    """Fails while the store of the jobs does not answer."""

    async def probe() -> None:
        await jobs.get(_SOME_JOB)

    return probe
