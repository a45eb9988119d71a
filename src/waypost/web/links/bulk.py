"""Many links in one request: a wish a line goes in, a link or a reason a line comes out, in the same order."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from waypost.kernel.errors import AskedWrongly, Conflict, WaypostError
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.many import MOST_AT_ONCE, NotKept, Outcome, make_many
from waypost.web.bounds import BodyRefused, read_body
from waypost.web.guard import Asker, WriteGuard, check_content_type
from waypost.web.links.bodies import NewLink, read_new_link
from waypost.web.links.documents import LinkDocument, show_link
from waypost.web.links.few import Few
from waypost.web.links.making import read_idempotency_key, refuse_loop
from waypost.web.links.schemas import IDEMPOTENCY_KEY, NDJSON, SECURITY, refuses, schema_of
from waypost.web.links.sharing import Sharing
from waypost.web.places import reading
from waypost.web.places.parameters import Parameter, Parameters
from waypost.web.problems import problem

MOST_BYTES = 16 * 1024 * 1024
_BODY_SECONDS = 60.0
_AT_A_TIME = 1000
_LONGEST_LINE = 64 * 1024
# Each holds its body in memory.
_AT_ONCE, _WAITING = 2, 8
_NO_STORE = {"Cache-Control": "no-store"}

_TAKEN = Parameters(
    Parameter(
        "atomic",
        "true: all links are made, or none",
        {"type": "string", "enum": ["true", "false"], "default": "false"},
        reading.choice(("true", "false")),
    )
)


class TooManyLines(AskedWrongly):
    """More lines than one request may have, or none."""

    slug = "too-many-lines"


class BulkRefused(Conflict):
    """All links were to be made, or none; and some were refused."""

    slug = "bulk-refused"


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    slug: str
    message: str
    status: int
    parameter: str | None = None


class Refusal(msgspec.Struct, frozen=True):
    """Why there is no link for a line; lines count from 1."""

    line: int
    error: Reason


# A line's number, and its wish, or what is wrong with it.
Line = tuple[int, Draft | WaypostError]


def bulk_routes(sharing: Sharing, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])
    few = Few(_AT_ONCE, waiting=_WAITING)

    async def create_many(request: Request) -> Response:
        """Make up to 10,000 links: one as JSON a line goes in; the link, or why there is none, a line comes out.

        Lines are made a thousand in a transaction, and answered after each; with `atomic=true` all in one.
        """
        asker = await guard(request)
        asker.needs("links:write")
        values = _TAKEN.read(request.scope["query_string"])
        check_content_type(request, NDJSON)
        bulk = _Bulk(sharing, request, asker)

        async def answer() -> Response:
            try:
                body = await read_body(request.scope, request.receive, most=MOST_BYTES, seconds=_BODY_SECONDS)
            except BodyRefused as refused:
                return refused.answer
            lines = _split(body)
            if values.get("atomic") == "true":
                return await bulk.all_or_none(lines)
            return StreamingResponse(bulk.one_by_one(lines), media_type=NDJSON, headers=_NO_STORE)

        return _InTurn(few, answer)

    either = {"anyOf": [schema_of(LinkDocument), schema_of(Refusal)]}
    router.add_api_route(
        "/v1/links/bulk",
        create_many,
        methods=["POST"],
        response_class=Response,
        responses={
            200: {"description": "A link, or a reason, a line", "content": {NDJSON: {"schema": either}}},
            400: refuses("bad-parameter", "too-many-lines", "body-incomplete", "key-in-address", "several-keys"),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
            408: refuses("body-too-slow"),
            409: refuses("bulk-refused"),
            413: refuses("body-too-large"),
            415: refuses("unsupported-content-type"),
            429: refuses("too-many-at-once"),
        },
        openapi_extra={
            "parameters": [IDEMPOTENCY_KEY, *_TAKEN.described()],
            "security": SECURITY,
            "requestBody": {"required": True, "content": {NDJSON: {"schema": schema_of(NewLink)}}},
        },
    )
    return router


class _Bulk:
    def __init__(self, sharing: Sharing, request: Request, asker: Asker) -> None:
        self._sharing = sharing
        self._request = request
        self._asker = asker
        self._key = read_idempotency_key(sharing, request, asker)
        self._base_url = sharing.redirects.base_url(request)

    async def one_by_one(self, texts: Sequence[tuple[int, bytes]]) -> AsyncIterator[bytes]:
        for start in range(0, len(texts), _AT_A_TIME):
            lines = [self._read(*text) for text in texts[start : start + _AT_A_TIME]]
            drafts = [draft for _, draft in lines if isinstance(draft, Draft)]
            try:
                outcomes = await make_many(self._sharing.author, drafts, self._asker.caller.name, atomic=False)
            except WaypostError as error:
                # Lines before were made, and answered: these can only be told the same way.
                outcomes = [error] * len(drafts)
            yield await self._answer(lines, outcomes)

    async def all_or_none(self, texts: Sequence[tuple[int, bytes]]) -> Response:
        lines = [self._read(*text) for text in texts]
        drafts = [draft for _, draft in lines if isinstance(draft, Draft)]
        outcomes: Sequence[Outcome] = [NotKept()] * len(drafts)
        if len(drafts) == len(lines):
            outcomes = await make_many(self._sharing.author, drafts, self._asker.caller.name, atomic=True)
        refused = [
            _refusal(number, outcome)
            for number, outcome in _together(lines, outcomes)
            if isinstance(outcome, WaypostError) and not isinstance(outcome, NotKept)
        ]
        if not refused:
            return Response(await self._answer(lines, outcomes), media_type=NDJSON, headers=_NO_STORE)
        error = BulkRefused(f"{len(refused)} of {len(lines)} lines were refused, so that no link was made")
        return problem(error.http_status, error.slug, str(error), lines=refused)

    def _read(self, number: int, text: bytes) -> Line:
        try:
            if len(text) > _LONGEST_LINE:
                raise TooManyLines(f"a line has at most {_LONGEST_LINE} bytes")
            wanted = read_new_link(text)
            refuse_loop(self._sharing, self._request, wanted.target)
        except WaypostError as error:
            return number, error
        key = None if self._key is None else f"{self._key}\n{number}"
        return number, wanted.draft(self._asker.caller.owner, key)

    async def _answer(self, lines: Sequence[Line], outcomes: Sequence[Outcome]) -> bytes:
        links = [outcome.link for outcome in outcomes if not isinstance(outcome, WaypostError)]
        for link in links:
            self._sharing.cache.invalidate(link.phrase)
        visits = await self._sharing.visits.count([link.id for link in links])
        shown: list[Any] = [
            _refusal(number, outcome)
            if isinstance(outcome, WaypostError)
            else show_link(outcome.link, self._base_url, visits.get(outcome.link.id, 0))
            for number, outcome in _together(lines, outcomes)
        ]
        return b"".join(msgspec.json.encode(each) + b"\n" for each in shown)


def _split(body: bytes) -> list[tuple[int, bytes]]:
    if body.count(b"\n") > 2 * MOST_AT_ONCE:
        raise TooManyLines(f"a request has at most {MOST_AT_ONCE} lines; send the others in another one")
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if len(lines) > MOST_AT_ONCE:
        raise TooManyLines(f"a request has at most {MOST_AT_ONCE} lines; send the others in another one")
    if not lines:
        raise TooManyLines("there are no lines in the body: send a link to make as JSON in each")
    return lines


def _together(lines: Sequence[Line], outcomes: Sequence[Outcome]) -> Iterator[tuple[int, Outcome]]:
    """Each line with what became of it."""
    made = iter(outcomes)
    for number, draft in lines:
        yield number, next(made) if isinstance(draft, Draft) else draft


def _refusal(number: int, error: WaypostError) -> Refusal:
    parameter = error.parameter if isinstance(error, AskedWrongly) else None
    return Refusal(number, Reason(error.slug, str(error), error.http_status, parameter))


class _InTurn(Response):
    """An answer that keeps its turn from the first byte of the body to the last byte of the answer."""

    def __init__(self, few: Few, answer: Callable[[], Awaitable[Response]]) -> None:
        super().__init__()
        self._few = few
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._few:
            answer = await self._answer()
            await answer(scope, receive, send)
