"""What every role answers: is it alive, is it ready and if not why, and its metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import msgspec
from fastapi import APIRouter, Response

from waypost.kernel.errors import WaypostError
from waypost.telemetry.metrics import CONTENT_TYPE_LATEST, generate_latest
from waypost.web.http.routing import readable

# Longer than a store waits for a connection: what it says is worth more than that it said nothing.
_PATIENCE_SECONDS = 12.0

# Answered however much else is asked: a process that is overloaded is not to be restarted for it.
PROBE_PATHS = ("/livez", "/readyz", "/healthz", "/health")

# A probe raises what is wrong. Where all is well it may still have something to tell.
Probe = Callable[[], Awaitable[str | None]]


def health_routes(probes: Mapping[str, Probe]) -> APIRouter:
    router = APIRouter(tags=["health"])

    async def livez() -> Response:
        """Whether the process can answer at all."""
        return Response("ok\n", media_type="text/plain")

    async def readyz(verbose: str | None = None) -> Response:
        """Whether requests should be sent here; `?verbose` says what was checked."""
        found = {name: await _judge(probe) for name, probe in probes.items()}
        ready = all(well for well, _ in found.values())
        status = 200 if ready else 503
        if verbose is None:
            return Response("ok\n" if ready else "not ready\n", status_code=status, media_type="text/plain")
        body = {"ready": ready, "checks": {name: said for name, (_, said) in found.items()}}
        return Response(msgspec.json.encode(body), status_code=status, media_type="application/json")

    async def metrics() -> Response:
        """Metrics in the Prometheus format."""
        return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    alive, *ready_paths = PROBE_PATHS
    readable(router, alive, livez)
    for path in ready_paths:
        readable(router, path, readyz, name=path.strip("/"))
    readable(router, "/metrics", metrics)
    return router


def softened(probe: Probe, goes_on: str) -> Probe:
    """For what the role can do without, for a while: it stays ready, and tells what it `goes_on` with."""

    async def soft() -> str | None:
        well, said = await _judge(probe)
        return None if well else f"{goes_on}: {said}"

    return soft


async def _judge(probe: Probe) -> tuple[bool, str]:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return True, await probe() or "ok"
    except WaypostError as error:
        return False, error.outside
    except TimeoutError:
        return False, "no answer in time"
