"""Snapshots on a plain HTTP server: a folder as nginx, a bucket or Python's own server would show it."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Self
from urllib.parse import SplitResult, unquote, urljoin, urlsplit, urlunsplit

import httpx

from waypost.adapters.sources.http import PORTS, origin_of, user_agent
from waypost.kernel.clock import monotonic
from waypost.serving.pulling.origin import Arriving, BadOrigin, NotAtOrigin, OriginAway, OriginBroken

_CONNECT_SECONDS, _READ_SECONDS = 10.0, 30.0
# Each stretch of time must bring at least this much: a server that drips would otherwise hold us for ever.
_STRETCH_SECONDS, _LEAST_BYTES = 60.0, 1 << 16
_MOST_REDIRECTS = 5
_LONGEST_TAG = 200
_OF_A_PART = {httpx.codes.OK, httpx.codes.PARTIAL_CONTENT, httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE}
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)", re.ASCII)
_STRONG_TAG = re.compile(r'"[\x21\x23-\x7e]*"', re.ASCII)


class HttpOrigin:
    def __init__(self, url: str) -> None:
        split = _read(url)
        self._origin = origin_of(split)
        host = split.netloc.rpartition("@")[2]
        self._base = urlunsplit((split.scheme, host, split.path.rstrip("/"), "", ""))
        self._http = httpx.AsyncClient(
            # Compressed bytes are not those that the manifest counts and checksums.
            headers={"User-Agent": user_agent(), "Accept-Encoding": "identity"},
            auth=(unquote(split.username), unquote(split.password or "")) if split.username else None,
            timeout=httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            # The machine's own certificates, and with them SSL_CERT_FILE.
            verify=ssl.create_default_context(),
            trust_env=False,
        )

    @property
    def url(self) -> str:
        return self._base

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._http.aclose()

    async def read(self, path: str, most: int) -> bytes:
        content = b""
        try:
            async with asyncio.timeout(_READ_SECONDS), self._asking(path, {}) as answer:
                async for chunk in self._chunks(answer, path):
                    content += chunk
                    if len(content) > most:
                        raise OriginBroken(f"{self._base}/{path} has more than {most:,} bytes, which it cannot need")
        except TimeoutError:
            raise OriginAway(f"{self._base}/{path} takes longer than {_READ_SECONDS:g} seconds") from None
        return content

    @asynccontextmanager
    async def open(self, path: str, start: int, tag: str | None) -> AsyncIterator[Arriving]:
        headers = {"Range": f"bytes={start}-"} if start else {}
        if start and tag:
            headers["If-Range"] = tag
        async with self._asking(path, headers) as answer:
            begins, size = _where(answer)
            if begins in {0, start}:
                yield Arriving(begins, size, _tag(answer), self._chunks(answer, path))
                return
        # The server has no such range, or sends another: start from the beginning.
        async with self._asking(path, {}) as answer:
            yield Arriving(0, _where(answer)[1], _tag(answer), self._chunks(answer, path))

    async def _chunks(self, answer: httpx.Response, path: str) -> AsyncGenerator[bytes, None]:
        stretch_ends, brought = monotonic() + _STRETCH_SECONDS, 0
        with _telling(f"{self._base}/{path}"):
            async for chunk in answer.aiter_raw():
                yield chunk
                brought += len(chunk)
                if monotonic() >= stretch_ends:
                    if brought < _LEAST_BYTES:
                        raise OriginAway(f"{self._base}/{path} brings less than {_LEAST_BYTES:,} bytes a minute")
                    stretch_ends, brought = monotonic() + _STRETCH_SECONDS, 0

    @asynccontextmanager
    async def _asking(self, path: str, headers: dict[str, str]) -> AsyncIterator[httpx.Response]:
        """Yields an answer to what was asked: the whole file, a range, or that there is no such range."""
        url = f"{self._base}/{path}"
        for _ in range(_MOST_REDIRECTS):
            with _telling(url):
                answer = await self._http.send(self._http.build_request("GET", url, headers=headers), stream=True)
            try:
                if not answer.has_redirect_location:
                    self._judge(answer, path, is_part="Range" in headers)
                    yield answer
                    return
                url = self._follow(url, answer.headers["Location"], path)
            finally:
                await answer.aclose()
        raise OriginBroken(f"{self._base}/{path} leads from one address to the next, more than {_MOST_REDIRECTS} times")

    def _follow(self, url: str, location: str, path: str) -> str:
        try:
            target = urlsplit(urljoin(url, location.strip()))
            is_same = "@" not in target.netloc and origin_of(target) == self._origin
        except ValueError:
            raise OriginBroken(f"{self._base}/{path} leads to something that is not an address") from None
        if not is_same:
            there = f"{target.scheme}://{target.hostname}"[:200]
            raise OriginBroken(
                f"{self._base}/{path} leads to another server, {there}", next_step="pull from there, if you trust it"
            )
        return urlunsplit(target)

    def _judge(self, answer: httpx.Response, path: str, *, is_part: bool) -> None:
        status, where = answer.status_code, f"{self._base}/{path}"
        if status in {httpx.codes.NOT_FOUND, httpx.codes.GONE}:
            raise NotAtOrigin(
                f"{where} is not there ({status})",
                next_step="check the address; where it comes from: waypost snapshot list",
            )
        if answer.is_server_error or status in {httpx.codes.TOO_MANY_REQUESTS, httpx.codes.REQUEST_TIMEOUT}:
            raise OriginAway(f"{where} cannot be had at the moment ({status})")
        if status not in (_OF_A_PART if is_part else {httpx.codes.OK}):
            raise OriginBroken(f"{where} is not given to us ({status})")
        if answer.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise OriginBroken(f"{where} comes packed, though we ask for it as it is; switch that off for snapshots")


@contextmanager
def _telling(where: str) -> Iterator[None]:
    """Turns whatever goes wrong between us and the server into our own error."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        reason = str(error) or type(error).__name__
        message = f"{where} cannot be had: {reason[:300]}"
        raise OriginAway(message, next_step="check the address and the network") from error


def _read(url: str) -> SplitResult:
    shown = re.sub(r"//[^/]*@", "//***@", url)[:200]
    bad = BadOrigin(
        f"{shown!r} is not the address of a folder of snapshots",
        next_step="write it like https://example.org/snapshots",
    )
    try:
        split = urlsplit(url)
        is_usable = split.scheme in PORTS and split.hostname and split.port != 0 and url.isprintable()
    except ValueError:
        raise bad from None
    if not is_usable or split.query or split.fragment:
        raise bad
    return split


def _where(answer: httpx.Response) -> tuple[int | None, int | None]:
    """Returns at which byte of the file the answer begins, and how long the file is, as far as the server says."""
    if answer.status_code == httpx.codes.OK:
        length = answer.headers.get("Content-Length", "")
        return 0, int(length) if re.fullmatch(r"\d{1,18}", length, re.ASCII) else None
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    if answer.status_code != httpx.codes.PARTIAL_CONTENT or not found:
        return None, None
    return int(found[1]), None if found[2] == "*" else int(found[2])


def _tag(answer: httpx.Response) -> str | None:
    """Returns the ETag, unless it is weak: that may name other bytes as well."""
    tag = answer.headers.get("ETag", "")
    return tag if len(tag) <= _LONGEST_TAG and _STRONG_TAG.fullmatch(tag) else None
