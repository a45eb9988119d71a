"""Health and metrics for roles that serve nothing else."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from waypost.roles.kit.sockets import HttpServer, address, listen
from waypost.settings import Settings
from waypost.telemetry.logs import get_logger
from waypost.web.app import make_app
from waypost.web.http.guard import WriteGuard
from waypost.web.http.health import Probe

log = get_logger("health")


@asynccontextmanager
async def health_port(settings: Settings, probes: Mapping[str, Probe]) -> AsyncIterator[None]:
    """A small server beside a role, where WAYPOST_HEALTH_PORT asks for one."""
    if not settings.web.health_port:
        yield
        return
    with listen(settings.web.host, settings.web.health_port, moves_on=False) as sock:
        server = HttpServer(make_app(probes=probes, guard=WriteGuard(settings.web.host)))
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        log.info("health and metrics", address=address(sock))
        try:
            yield
        finally:
            server.stop()
            await serving
