"""An answer before it is sent: the same for the hot path and for FastAPI's routes, so that they cannot differ."""

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.kernel.errors import AskedWrongly, WaypostError
from waypost.web.http.compression import compressor
from waypost.web.http.encoded_headers import Head, Header, head_of
from waypost.web.http.problems import problem_document

Chunk = bytes | memoryview

# More than this is not compressed at once, and does not leave by the hot path.
LARGE = 512 * 1024
# More than this leaves in pieces, each when the client has taken those before: no client can make us hold more.
_PIECE = 128 * 1024
_NOT_MODIFIED = 304


class Answer(msgspec.Struct, eq=False):
    """A status, headers, and a body of slices of the memory map with what stands around them.

    A large body is compressed only while it is sent: `encoding` says how, and its length is not known.
    """

    status: int
    head: Head
    chunks: list[Chunk]
    size: int
    encoding: str | None = None

    @property
    def has_length(self) -> bool:
        return self.encoding is None and self.status != _NOT_MODIFIED

    @property
    def headers(self) -> list[Header]:
        return [*self.head.headers, *([(b"content-length", b"%d" % self.size)] if self.has_length else [])]

    def pieces(self) -> Iterator[Chunk]:
        """The body in parts of about the same size, compressed where that is still to be done."""
        if self.encoding is None:
            yield from _cut(self.chunks)
            return
        packing = compressor(self.encoding)
        for piece in _cut(self.chunks):
            if packed := packing.compress(piece):
                yield packed
        yield packing.flush()


def _cut(chunks: list[Chunk]) -> Iterator[Chunk]:
    gathered: list[Chunk] = []
    size = 0
    for chunk in chunks:
        for start in range(0, len(chunk), _PIECE):
            part = memoryview(chunk)[start : start + _PIECE]
            gathered.append(part)
            size += len(part)
            if size >= _PIECE:
                yield b"".join(gathered)
                gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


_PROBLEM = head_of((b"cache-control", b"no-store"), (b"content-type", b"application/problem+json"))


def problem_answer(error: WaypostError) -> Answer:
    parameter = error.parameter if isinstance(error, AskedWrongly) else None
    body = problem_document(error.http_status, error.slug, error.outside, parameter=parameter)
    return Answer(error.http_status, _PROBLEM, [body], len(body))


class AnswerResponse(Response):
    """An answer on its way through FastAPI."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(status_code=answer.status)
        self.raw_headers = answer.headers
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's own signature
        answer = self._answer
        await send({"type": "http.response.start", "status": answer.status, "headers": self.raw_headers})
        if scope["method"] == "HEAD" or not answer.size:
            await send(_part(b""))
        elif answer.size <= _PIECE:
            await send(_part(answer.chunks[0] if len(answer.chunks) == 1 else b"".join(answer.chunks)))
        else:
            for piece in answer.pieces():
                await send(_part(piece, more=True))
                # Other requests get their turn, even while this client takes everything at once.
                await asyncio.sleep(0)
            await send(_part(b""))


def _part(body: Chunk, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}
