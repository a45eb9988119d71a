"""One bounded request to a provider over HTTP, and what its answer means. For all sources, ours and others'."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module, metadata
from typing import NoReturn
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

import httpx
import msgspec

from waypost import __version__
from waypost.adapters.sources.access import Access
from waypost.adapters.sources.advice import parse_advice, parse_retry_after, told_at
from waypost.adapters.sources.unpacking import KNOWN, BadlyPacked, TooLarge, Unpacker
from waypost.importing.base import BaseSource
from waypost.importing.source import AccessDenied, OutsideScope, ProviderRefused, ProviderUnavailable
from waypost.kernel.errors import TerminalError, WaypostError
from waypost.scaling.ratelimit.budget import Advice
from waypost.telemetry.metrics import PROVIDER_REQUESTS

# At its finer levels it logs every header of an answer, and a provider may send our key back in one.
logging.getLogger("httpcore").setLevel(logging.WARNING)

PORTS = {"http": 80, "https": 443}
_LONGEST_LINK = 8192
_LONGEST_ETAG = 200


class ProviderRejected(TerminalError):
    """The provider says that the request itself is wrong; sending it again would not help."""


class ProviderAnswer(msgspec.Struct, frozen=True):
    """`headers` by their names in lower case; `address` is what was asked, from the path on."""

    body: bytes
    advice: Advice | None = None
    headers: Mapping[str, str] = {}
    address: str = "/"
    not_modified: bool = False


class ProviderClient:
    """Keeps connections alive, bounds every answer in time and size, and sends our key to nobody but the provider.

    `configured` is where a person finds the provider's address: a variable, or a file.
    """

    def __init__(
        self, name: str, url: str, access: Access | None, *, configured: str, timeout: float, max_answer: int
    ) -> None:
        self._name = name
        self._url = url.partition("?")[0]
        self._split = urlsplit(url)
        self._access = access
        self._configured = configured
        self._timeout = timeout
        self._max_answer = max_answer
        headers = {"User-Agent": user_agent(), "Accept": "application/json", "Accept-Encoding": "gzip"}
        if access and access.value:
            headers[access.header] = access.value.reveal()
        with suppress(ImportError):
            # httpx loads it with its first request, which would leave too late for its turn.
            import_module("anyio._backends._asyncio")
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._http = httpx.AsyncClient(headers=headers, cookies=no_cookies, timeout=timeout, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def get(
        self, path: str = "", params: Mapping[str, str] | None = None, *, etag: str | None = None
    ) -> ProviderAnswer:
        """Asks for a path below the provider's address. With an `etag`, only if the answer has another one by now."""
        return await self.get_at(self.address(path, params), etag=etag)

    async def get_at(self, address: str, *, etag: str | None = None) -> ProviderAnswer:
        """Asks for an address of the provider's, as `address` and `follow` return it."""
        if not address.startswith("/"):
            raise OutsideScope(f"{self.hide(address[:200])!r} is not an address below {self._url}")
        failure: WaypostError
        try:
            # httpx bounds each read; the whole answer is bounded here, or a drip would hold a lease for ever.
            async with asyncio.timeout(self._timeout):
                answer = await self._ask(address, etag)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            failure = ProviderRejected(self.hide(f"{self._url} cannot be asked: {error}"))
        except (TimeoutError, httpx.HTTPError) as error:
            PROVIDER_REQUESTS.labels(self._name, "error").inc()
            reason = str(error) or type(error).__name__
            failure = ProviderUnavailable(
                self.hide(f"the provider at {self._url} does not answer: {reason[:300]}"),
                next_step=f"check {self._configured} and the network, then start the import again",
            )
        else:
            PROVIDER_REQUESTS.labels(self._name, "ok").inc()
            return answer
        # Outside of the handler: what a provider sent, and with it our own key, would stay in the error's context.
        raise failure

    def address(self, path: str = "", params: Mapping[str, str] | None = None) -> str:
        """A path below the provider's address with parameters, from the host on."""
        below = self._split.path.rstrip("/") if path else self._split.path or "/"
        return asking(f"{below}{path}?{self._split.query}".rstrip("?"), params or {})

    def shown(self, address: str) -> str:
        """An address for people, with the host and without secrets."""
        return self.hide(f"{self._split.scheme}://{self._split.netloc}{address}")

    def follow(self, answer: ProviderAnswer, link: str) -> str:
        """Where a link in an answer leads. Raises OutsideScope unless it is the provider's own: our key goes along."""
        try:
            target = urlsplit(urljoin(f"{self._split.scheme}://{self._split.netloc}{answer.address}", link.strip()))
            is_ours = "@" not in target.netloc and origin_of(target) == origin_of(self._split)
        except ValueError:
            raise OutsideScope("the provider's next page has something that is not an address") from None
        if not is_ours:
            raise OutsideScope(f"the provider at {self._url} leads to {self._host(link)}, where our key must not go")
        address = (target.path or "/") + (f"?{target.query}" if target.query else "")
        if len(address) > _LONGEST_LINK:
            raise ProviderRejected(f"the address of the next page is longer than {_LONGEST_LINK} characters")
        if self.hide(address) != address:
            # It would be kept as the job's cursor, and shown with it.
            raise ProviderRejected("the provider's next page has our key in its address, which cannot be kept")
        return address if address.startswith("/") else f"/{address}"

    def etag(self, answer: ProviderAnswer) -> str | None:
        """The provider's name for an answer, if it is one that can be kept."""
        etag = answer.headers.get("etag", "")
        return etag if 0 < len(etag) <= _LONGEST_ETAG and self.hide(etag) == etag else None

    def hide(self, text: str) -> str:
        """Text that may come from a provider, without our key in it."""
        return self._access.hide(text) if self._access else text

    async def _ask(self, address: str, etag: str | None) -> ProviderAnswer:
        url = f"{self._split.scheme}://{self._split.netloc}{address}"
        async with self._http.stream("GET", url, headers={"If-None-Match": etag} if etag else None) as answer:
            headers = {name.lower(): value for name, value in answer.headers.items()}
            advice = parse_advice(answer.headers, told_at(answer.headers, datetime.now(UTC)))
            if answer.status_code == httpx.codes.NOT_MODIFIED and etag:
                return ProviderAnswer(b"", advice, headers, address, not_modified=True)
            self._judge(answer)
            body = await self._read(answer)
            return ProviderAnswer(self._access.hide_in(body) if self._access else body, advice, headers, address)

    async def _read(self, answer: httpx.Response) -> bytes:
        encoding = answer.headers.get("Content-Encoding", "").strip().lower()
        if encoding not in KNOWN:
            raise ProviderRejected(self.hide(f"the provider's answer is packed as {encoding[:40]!r}; we take gzip"))
        unpacker = Unpacker(encoding, self._max_answer)
        try:
            async for chunk in answer.aiter_raw():
                unpacker.feed(chunk)
            return unpacker.finish()
        except TooLarge:
            message = f"the provider's answer is larger than {self._max_answer} bytes (import.max_answer)"
            raise ProviderRejected(message) from None
        except BadlyPacked as error:
            raise ProviderUnavailable(f"the provider's answer is not the gzip that it claims to be: {error}") from None

    def _judge(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status == httpx.codes.OK:
            return
        PROVIDER_REQUESTS.labels(self._name, str(status)).inc()
        if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
            self._deny(status)
        now = told_at(answer.headers, datetime.now(UTC))
        pause = parse_retry_after(answer.headers.get("Retry-After"), now)
        if status == httpx.codes.TOO_MANY_REQUESTS or (status == httpx.codes.SERVICE_UNAVAILABLE and pause is not None):
            advice = parse_advice(answer.headers, now)
            if pause is None and advice and advice.remaining == 0:
                pause = advice.reset
            raise ProviderRefused(f"the provider asks us to wait ({status}, {_told(pause)})", retry_after=pause)
        if answer.is_server_error:
            raise ProviderUnavailable(f"the provider at {self._url} failed ({status})")
        leads = f"; it leads to {self._host(answer.headers['Location'])}" if answer.has_redirect_location else ""
        raise ProviderRejected(f"the provider at {self._url} does not take this request ({status}){leads}")

    def _deny(self, status: int) -> NoReturn:
        variable = self._access.variable if self._access else f"a key, where {self._configured} says"
        raise AccessDenied(
            f"the provider at {self._url} refuses our key ({status})",
            next_step=f"set {variable} to a key that it knows, then start the import again",
        )

    def _host(self, link: str) -> str:
        """The host that a link leads to, and nothing else: the rest of it may repeat what we sent."""
        try:
            host = urlsplit(self.hide(link)).hostname
        except ValueError:
            host = None
        return self.hide(host or "the same host")[:200]


def asking(address: str, params: Mapping[str, str]) -> str:
    """An address with these parameters besides those that it has."""
    if not params:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(params)}"


@cache
def user_agent() -> str:
    """Who asks, and where to read about us, if there is such a place."""
    try:
        urls = metadata.metadata("waypost").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        urls = []
    pages = [url.partition(",")[2].strip() for url in urls]
    return f"waypost/{__version__}" + (f" (+{pages[0]})" if pages else "")


def origin_of(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or PORTS.get(url.scheme)


def _told(pause: float | None) -> str:
    return "it does not say how long" if pause is None else f"{pause:.0f} s"


class HttpSource(BaseSource):
    """A subclass sets the client, and what the budget is counted by."""

    _client: ProviderClient
    _budget_key: str

    @property
    def budget_key(self) -> str:
        return self._budget_key

    async def close(self) -> None:
        await self._client.close()
