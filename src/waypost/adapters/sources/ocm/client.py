"""One bounded request to a provider over HTTP, and what its answer means."""

import asyncio
from datetime import UTC, datetime

import httpx
import msgspec

from waypost import __version__
from waypost.adapters.sources.advice import parse_advice, parse_retry_after
from waypost.importing.source import AccessDenied, ProviderRefused, ProviderUnavailable
from waypost.kernel.configuration import Secret
from waypost.kernel.errors import TerminalError
from waypost.scaling.ratelimit.budget import Advice
from waypost.telemetry.metrics import PROVIDER_REQUESTS


class ProviderRejected(TerminalError):
    """The provider says that the request itself is wrong; sending it again would not help."""

    slug = "provider-rejected"


class Answer(msgspec.Struct, frozen=True):
    body: bytes
    advice: Advice | None


class ProviderClient:
    """Keeps connections alive, bounds every answer in time and size, and never follows a redirect with our key."""

    def __init__(self, name: str, url: str, key: Secret, *, timeout: float, max_answer: int) -> None:
        self._name = name
        self._url = url
        self._timeout = timeout
        self._max_answer = max_answer
        headers = {"User-Agent": f"waypost/{__version__}", "Accept": "application/json"}
        if key and not (key.reveal().isascii() and key.reveal().isprintable()):
            raise ProviderRejected(
                "the key has characters in it that no key has; copy it again",
                next_step=f"set WAYPOST_{name.upper()}_KEY",
            )
        if key:
            headers["X-API-Key"] = key.reveal()
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, params: dict[str, str]) -> Answer:
        try:
            # httpx bounds each read; the whole answer is bounded here, or a drip would hold a lease for ever.
            async with asyncio.timeout(self._timeout):
                answer = await self._get(path, params)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ProviderRejected(f"{self._url} cannot be asked: {error}") from error
        except (TimeoutError, httpx.TransportError) as error:
            PROVIDER_REQUESTS.labels(self._name, "error").inc()
            reason = str(error) or type(error).__name__
            raise ProviderUnavailable(
                f"the provider at {self._url} does not answer: {reason}",
                next_step=f"check WAYPOST_{self._name.upper()}_URL and the network, then start the import again",
            ) from error
        PROVIDER_REQUESTS.labels(self._name, "ok").inc()
        return answer

    async def _get(self, path: str, params: dict[str, str]) -> Answer:
        async with self._http.stream("GET", path, params=params) as answer:
            self._judge(answer)
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > self._max_answer:
                    raise ProviderRejected(
                        f"the provider's answer is larger than {self._max_answer} bytes (import.max_answer)"
                    )
            return Answer(bytes(body), parse_advice(answer.headers, datetime.now(UTC)))

    def _judge(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status == httpx.codes.OK:
            return
        PROVIDER_REQUESTS.labels(self._name, str(status)).inc()
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            raise AccessDenied(
                f"the provider at {self._url} refuses our key ({status})",
                next_step=f"set WAYPOST_{self._name.upper()}_KEY to a key that it knows, then start the import again",
            )
        now = datetime.now(UTC)
        pause = parse_retry_after(answer.headers.get("Retry-After"), now)
        if status == httpx.codes.TOO_MANY_REQUESTS or (status == httpx.codes.SERVICE_UNAVAILABLE and pause is not None):
            advice = parse_advice(answer.headers, now)
            if pause is None and advice and advice.remaining == 0:
                pause = advice.reset
            raise ProviderRefused(f"the provider asks us to wait ({status}, {_told(pause)})", retry_after=pause)
        if answer.is_server_error:
            raise ProviderUnavailable(f"the provider at {self._url} failed ({status})")
        raise ProviderRejected(f"the provider at {self._url} does not take this request ({status})")


def _told(pause: float | None) -> str:
    return "it does not say how long" if pause is None else f"{pause:.0f} s"
