"""Many links in one request: one wish per line goes in, one link or reason per line comes out, in the same order."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from waypost.kernel.errors import AskedWrongly, WaypostError
from waypost.sharing.links.document import show_link
from waypost.sharing.links.draft import Draft, MadeLink
from waypost.sharing.links.link import LinkDocument, NewLink
from waypost.sharing.links.many import MOST_AT_ONCE, NotKept, Outcome, Wish, make_many, with_pauses
from waypost.telemetry.logs import get_logger
from waypost.telemetry.rated_log import RatedLog
from waypost.web.http import parameter_values
from waypost.web.http.authentication import Asker, WriteGuard, check_content_type
from waypost.web.http.concurrency_limit import ConcurrencyLimit
from waypost.web.http.middleware import BodyRefused, read_body
from waypost.web.http.parameters import Parameter, Parameters
from waypost.web.http.problems import problem
from waypost.web.links.creation_checks import read_idempotency_key, refuse_loop
from waypost.web.links.openapi import IDEMPOTENCY_KEY, NDJSON, SECURITY, refuses, schema_of
from waypost.web.links.request_bodies import read_new_link
from waypost.web.links.route_dependencies import LinkParts

rated = RatedLog(get_logger("web"))

MOST_BYTES = 16 * 1024 * 1024
_BODY_SECONDS = 60.0
_AT_A_TIME = 1000
_LONGEST_LINE = 64 * 1024
# Each holds its body in memory.
_AT_ONCE, _WAITING = 2, 8
_NO_STORE = {"Cache-Control": "no-store"}
_ASKED_WRONGLY = (
    *("bad-parameter", "too-many-lines", "bulk-refused"),
    *("body-incomplete", "key-in-address", "several-keys"),
)

_TAKEN = Parameters(
    Parameter(
        "atomic",
        "true: all links are made, or none",
        {"type": "string", "enum": ["true", "false"], "default": "false"},
        parameter_values.choice(("true", "false")),
    )
)


class TooManyLines(AskedWrongly):
    """More lines than one request may have, or none."""


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    slug: str
    message: str
    status: int
    parameter: str | None = None


class RefusedWish(msgspec.Struct, frozen=True):
    """Why there is no link for a line; lines count from 1."""

    line: int
    error: Reason


# A line's number, and its wish, or what is wrong with it.
Line = tuple[int, Wish]
_DEFECT = Reason("defect", "an error that should not happen; the log has the details", 500)


def bulk_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])
    few = ConcurrencyLimit(_AT_ONCE, waiting=_WAITING)

    async def create_many(request: Request) -> Response:
        """Make up to 10,000 links: each line in is a link as JSON; each line out is the link, or why there is none.

        A thousand lines are made in each transaction, and answered after it; with `atomic=true` all are made in one.
        """
        asker = await guard(request)
        asker.needs("links:write")
        values = _TAKEN.read(request.scope["query_string"])
        check_content_type(request, NDJSON)
        bulk = _Bulk(parts, request, asker)

        async def answer() -> Response:
            try:
                body = await read_body(request.scope, request.receive, most=MOST_BYTES, seconds=_BODY_SECONDS)
            except BodyRefused as refused:
                return refused.answer
            # All lines are read before the first is answered: once an answer has begun, it cannot become a refusal.
            lines = [bulk.read(*text) async for text in with_pauses(_split(body))]
            if values.get("atomic") == "true":
                return await bulk.all_or_none(lines)
            return StreamingResponse(bulk.one_by_one(lines), media_type=NDJSON, headers=_NO_STORE)

        return _InTurn(few, answer)

    either = {"anyOf": [schema_of(LinkDocument), schema_of(RefusedWish)]}
    router.add_api_route(
        "/v1/links/bulk",
        create_many,
        methods=["POST"],
        response_class=Response,
        responses={
            200: {"description": "A link, or a reason, per line", "content": {NDJSON: {"schema": either}}},
            400: refuses(*_ASKED_WRONGLY),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
            408: refuses("body-too-slow"),
            409: refuses("bulk-refused"),
            413: refuses("body-too-large"),
            415: refuses("unsupported-content-type"),
            429: refuses("too-many-at-once"),
            503: refuses("bulk-refused", "store-trouble"),
        },
        openapi_extra={
            "parameters": [IDEMPOTENCY_KEY, *_TAKEN.described()],
            "security": SECURITY,
            "requestBody": {"required": True, "content": {NDJSON: {"schema": schema_of(NewLink)}}},
        },
    )
    return router


class _Bulk:
    def __init__(self, parts: LinkParts, request: Request, asker: Asker) -> None:
        self._parts = parts
        self._request = request
        self._asker = asker
        self._key = read_idempotency_key(parts, request, asker)
        self._base_url = parts.follow.base_url(request)

    def read(self, number: int, text: bytes) -> Line:
        try:
            if len(text) > _LONGEST_LINE:
                raise TooManyLines(f"a line has at most {_LONGEST_LINE} bytes")
            wanted = read_new_link(text)
            refuse_loop(self._parts, self._request, wanted.target)
        except WaypostError as error:
            return number, error
        key = None if self._key is None else f"{self._key}\n{number}"
        return number, Draft.of(wanted, self._asker.caller.owner, key)

    async def one_by_one(self, lines: Sequence[Line]) -> AsyncIterator[bytes]:
        for start in range(0, len(lines), _AT_A_TIME):
            some = lines[start : start + _AT_A_TIME]
            # Earlier lines were made, and answered: whatever goes wrong here can only be told line by line, too.
            try:
                answered = await self._answer(some, await self._make(some, atomic=False))
            except WaypostError as error:
                answered = _refuse_all(some, _reason(error))
            except Exception as error:  # noqa: BLE001 - the answer has begun
                rated.error("a request ended with a defect", error, path=self._request.url.path)
                answered = _refuse_all(some, _DEFECT)
            yield answered

    async def all_or_none(self, lines: Sequence[Line]) -> Response:
        outcomes = await self._make(lines, atomic=True)
        refused = [
            (number, outcome)
            for (number, _), outcome in zip(lines, outcomes, strict=True)
            if isinstance(outcome, WaypostError) and not isinstance(outcome, NotKept)
        ]
        if not refused:
            return Response(await self._answer(lines, outcomes), media_type=NDJSON, headers=_NO_STORE)
        return problem(
            # 409 when one conflicts with what is there, 503 when one may be made later: both say more than 400.
            max(error.http_status for _, error in refused),
            "bulk-refused",
            f"{len(refused)} of {len(lines)} lines were refused, so that no link was made",
            title="Not all links can be made",
            lines=[RefusedWish(number, _reason(error)) async for number, error in with_pauses(refused)],
        )

    async def _make(self, lines: Sequence[Line], *, atomic: bool) -> Sequence[Outcome]:
        wishes = [wish for _, wish in lines]
        return await make_many(self._parts.author, wishes, self._asker.caller.name, atomic=atomic)

    async def _answer(self, lines: Sequence[Line], outcomes: Sequence[Outcome]) -> bytes:
        made = [outcome for outcome in outcomes if isinstance(outcome, MadeLink)]
        async for each in with_pauses(made):
            self._parts.cache.invalidate(each.link.phrase)
        # A new link has no visits yet.
        visited = [each.link.id for each in made if each.how != "new"]
        visits = await self._parts.visits.count(visited) if visited else {}
        answered = zip(lines, outcomes, strict=True)
        return b"".join([self._show(number, each, visits) async for (number, _), each in with_pauses(answered)])

    def _show(self, number: int, outcome: Outcome, visits: Mapping[str, int]) -> bytes:
        if isinstance(outcome, WaypostError):
            return _line(RefusedWish(number, _reason(outcome)))
        return _line(show_link(outcome.link, self._base_url, visits.get(outcome.link.id, 0)))


def _split(body: bytes) -> list[tuple[int, bytes]]:
    if body.count(b"\n") > 2 * MOST_AT_ONCE:
        raise TooManyLines(f"a request has at most {MOST_AT_ONCE} lines; send the others in another one")
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if len(lines) > MOST_AT_ONCE:
        raise TooManyLines(f"a request has at most {MOST_AT_ONCE} lines; send the others in another one")
    if not lines:
        raise TooManyLines("there are no lines in the body: send a link to make as JSON in each")
    return lines


def _refuse_all(lines: Sequence[Line], reason: Reason) -> bytes:
    """Refuses each line with what is wrong with it, or else with `reason`."""
    return b"".join(
        _line(RefusedWish(number, _reason(wish) if isinstance(wish, WaypostError) else reason))
        for number, wish in lines
    )


def _line(document: LinkDocument | RefusedWish) -> bytes:
    return msgspec.json.encode(document) + b"\n"


def _reason(error: WaypostError) -> Reason:
    parameter = error.parameter if isinstance(error, AskedWrongly) else None
    return Reason(error.slug, error.outside, error.http_status, parameter)


class _InTurn(Response):
    """An answer that keeps its turn from the first byte of the body to the last byte of the answer."""

    def __init__(self, few: ConcurrencyLimit, answer: Callable[[], Awaitable[Response]]) -> None:
        super().__init__()
        self._few = few
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._few:
            answer = await self._answer()
            await answer(scope, receive, send)
