"""Answers with their headers: compressed where that is wanted, and without a body where the client has a copy."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from waypost.serving.reading.reader import Generation
from waypost.web.http.compression import ENCODINGS, LEAST, choose, compress
from waypost.web.http.encoded_headers import Head, Header, head_of
from waypost.web.places import html_pages
from waypost.web.places.answer import LARGE, Answer, Chunk
from waypost.web.places.place_request import PlaceRequest

_FRESH = b"no-cache"
_FOR_GOOD = b"max-age=86400, immutable"


class AnswerLook(NamedTuple):
    """How an answer looks from outside, whatever is in it; `pinned` when its generation was asked for by name."""

    kind: bytes
    form: str = ""
    by_accept: bool = False
    pinned: bool = False


FEATURE = AnswerLook(b"application/geo+json")
ITEM = AnswerLook(b"application/geo+json", by_accept=True)
PAGE = AnswerLook(b"text/html; charset=utf-8", form="-html", by_accept=True)
JSON = AnswerLook(b"application/json")


def give(request: PlaceRequest, generation: Generation, look: AnswerLook, body: Callable[[], list[Chunk]]) -> Answer:
    """Returns the answer; if the client has a current copy, a 304 for which the body is not even made."""
    known = request.headers.get(b"if-none-match")
    if known and (tag := _known(known, generation.name + look.form)):
        return Answer(304, head_of(*_kept(look, request.is_private), (b"etag", tag.encode())), [], 0)
    return finish(request, body(), look, generation.name)


def finish(request: PlaceRequest, chunks: list[Chunk], look: AnswerLook, generation: str | None) -> Answer:
    """The answer, compressed if that is wanted and pays. Without a generation it has no ETag: releases change it."""
    size = sum(map(len, chunks))
    if size < LEAST or not (accepted := request.headers.get(b"accept-encoding")) or not (encoding := choose(accepted)):
        return Answer(200, _head(look, generation, None, request.is_private), chunks, size)
    head = _head(look, generation, encoding, request.is_private)
    if size > LARGE:
        return Answer(200, head, chunks, size, encoding)
    packed = compress(encoding, b"".join(chunks))
    return Answer(200, head, [packed], len(packed))


@lru_cache(256)
def _head(look: AnswerLook, generation: str | None, encoding: str | None, is_private: bool) -> Head:  # noqa: FBT001 - part of a key of the cache
    headers = [*_kept(look, is_private), (b"content-type", look.kind)]
    if encoding:
        headers.append((b"content-encoding", encoding.encode()))
    if generation:
        tag = "-".join((generation + look.form, *([encoding] if encoding else [])))
        headers.append((b"etag", f'"{tag}"'.encode()))
    if look.kind == PAGE.kind:
        headers += html_pages.HEADERS
    return head_of(*headers)


def _kept(look: AnswerLook, is_private: bool) -> list[Header]:  # noqa: FBT001 - passed on from above
    """The headers that say who may keep a copy and for how long, and which requests it answers."""
    age = _FOR_GOOD if look.pinned else _FRESH
    vary = b"Accept, Accept-Encoding" if look.by_accept else b"Accept-Encoding"
    if is_private:
        return [(b"cache-control", b"private, " + age), (b"vary", vary + b", Authorization, X-API-Key")]
    return [(b"cache-control", b"public, " + age if look.pinned else age), (b"vary", vary)]


def _known(if_none_match: bytes, name: str) -> str | None:
    """Which of our tags the client's copy has, in whatever encoding; a proxy may have weakened it."""
    ours = {f'"{name}"', *(f'"{name}-{encoding}"' for encoding in ENCODINGS)}
    theirs = [each.strip().removeprefix("W/") for each in if_none_match.decode("latin-1").split(",")]
    if theirs == ["*"]:
        return f'"{name}"'
    return next((each for each in theirs if each in ours), None)
