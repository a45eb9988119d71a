"""What came of a link: its visits counted, its visits one by one, and who changed it."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from msgspec import Meta

from waypost.access.caller import ANONYMOUS
from waypost.kernel.clock import utc_now
from waypost.sharing.links.document import EditDocument, show_edit
from waypost.sharing.links.everything import KeptLine, everything
from waypost.sharing.links.link import Link
from waypost.sharing.visits.document import StatisticsDocument, show_statistics
from waypost.sharing.visits.statistics import StatisticsQuestion, count_visits
from waypost.sharing.visits.store import Span, Step
from waypost.sharing.visits.zones import LONGEST_ZONE, read_zone
from waypost.web.http import parameter_values
from waypost.web.http.authentication import Asker, WriteGuard
from waypost.web.http.parameters import Parameter, Parameters
from waypost.web.http.routing import readable
from waypost.web.links import time_parameters
from waypost.web.links.link_access import find_link
from waypost.web.links.openapi import EDIT_TOKEN, NDJSON, SECURITY, Phrase, gives, refuses
from waypost.web.links.route_dependencies import LinkParts

_MOST_VALUES, _DEFAULT_VALUES = 100, 10
_STEPS: tuple[Step, ...] = ("hour", "day")
_NO_STORE = {"Cache-Control": "no-store"}

_COUNTED = Parameters(
    time_parameters.FROM,
    time_parameters.TO,
    Parameter(
        "as_of",
        "as it was then: nothing later than this moment is counted",
        time_parameters.FROM.schema,
        time_parameters.moment,
    ),
    Parameter(
        "step",
        "how long each bucket of the series is",
        {"type": "string", "enum": list(_STEPS), "default": "day"},
        parameter_values.choice(_STEPS),
    ),
    Parameter(
        "zone",
        "where days begin, such as Europe/Berlin; it must be whole hours from UTC",
        {"type": "string", "minLength": 1, "maxLength": LONGEST_ZONE, "default": "UTC"},
        read_zone,
    ),
    Parameter(
        "limit",
        "most referrers, browsers, … to return of each",
        {"type": "integer", "minimum": 1, "maximum": _MOST_VALUES, "default": _DEFAULT_VALUES},
        parameter_values.whole(1, _MOST_VALUES),
    ),
)
_NONE = Parameters()
_SPAN = Parameters(time_parameters.FROM, time_parameters.TO)
_MOST_EDITS, _DEFAULT_EDITS = 1000, 100
_LAST_VERSION = 2**31 - 1
_EDITS = Parameters(
    Parameter(
        "limit",
        "most edits to return",
        {"type": "integer", "minimum": 1, "maximum": _MOST_EDITS, "default": _DEFAULT_EDITS},
        parameter_values.whole(1, _MOST_EDITS),
    ),
    Parameter(
        "after",
        "edits that made later versions than this",
        {"type": "integer", "minimum": 0, "maximum": _LAST_VERSION, "default": 0},
        parameter_values.whole(0, _LAST_VERSION),
    ),
)


class History(msgspec.Struct, frozen=True):
    """`next` is what to ask for as `after`, to go on; null after the last."""

    phrase: str
    edits: Sequence[EditDocument]
    next: int | None


class VisitDocument(msgspec.Struct, frozen=True):
    """One visit. A field that is not known, or that the visitor asked us not to keep, is empty."""

    id: str
    at: datetime
    visitor: Annotated[str, Meta(description="a hash that changes each day; not an address")]
    referrer_host: str
    referrer_path: str
    agent: str
    language: str
    country: str


def visits_and_history_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["links"])

    async def stats(request: Request, phrase: Phrase) -> Response:
        """How often a link was followed, when, and from where."""
        asker = await guard(request)
        values = _COUNTED.read(request.scope["query_string"])
        time_parameters.check_order(values)
        link = await find_link(parts, asker, phrase, "links:read")
        asked = _asked(link, values)
        counted = await count_visits(parts.visits, link.id, asked)
        return _answer(show_statistics(link.phrase, asked, counted))

    async def visits(request: Request, phrase: Phrase) -> Response:
        """All visits of a link, oldest first, one JSON document per line."""
        asker = await guard(request)
        values = _SPAN.read(request.scope["query_string"])
        time_parameters.check_order(values)
        link = await find_link(parts, asker, phrase, "links:read")
        lines = _lines(parts, link, Span(values.get("from"), values.get("to")))
        # Once an answer has begun, it cannot become a refusal: the first lines are read before.
        first = await anext(lines, b"")
        return StreamingResponse(_after(first, lines), media_type=NDJSON, headers=_NO_STORE)

    async def all_kept(request: Request, phrase: Phrase) -> Response:
        """All that is kept about a link, also a deleted one: JSON lines. Administrators get reports of abuse too."""
        asker = await guard(request)
        _NONE.read(request.scope["query_string"])
        link = await find_link(parts, asker, phrase, "links:read", deleted_too=True)
        reports = parts.follow.reports if asker.caller.is_admin else None
        lines = everything(link, parts.follow.base_url(request), parts.links, parts.visits, reports)
        return StreamingResponse(_after(await anext(lines), lines), media_type=NDJSON, headers=_NO_STORE)

    async def history(request: Request, phrase: Phrase) -> Response:
        """Who changed a link, when, and what it was before and after."""
        asker = await guard(request)
        values = _EDITS.read(request.scope["query_string"])
        link = await find_link(parts, asker, phrase, "links:read")
        limit = values.get("limit", _DEFAULT_EDITS)
        edits = await parts.links.history(link.id, values.get("after", 0), limit + 1)
        following = edits[limit - 1].version if len(edits) > limit else None
        shown = [_without_names(show_edit(edit), asker) for edit in edits[:limit]]
        return _answer(History(link.phrase, shown, following))

    def add(path: str, endpoint: Any, taken: Parameters, found: Any, *slugs: str) -> None:
        answers = {
            200: found,
            400: refuses("bad-parameter", *slugs, "key-in-address", "several-keys"),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
            404: refuses("unknown-link"),
        }
        extra = {"parameters": [EDIT_TOKEN, *taken.described()], "security": SECURITY}
        readable(router, f"/v1/links/{{phrase}}/{path}", endpoint, responses=answers, openapi_extra=extra)

    add("stats", stats, _COUNTED, gives("Counted", StatisticsDocument), "span-too-long", "zone-refused")
    add("visits", visits, _SPAN, gives("One visit per line", VisitDocument, NDJSON))
    add("history", history, _EDITS, gives("Edits, oldest first", History))
    add("everything", all_kept, _NONE, gives("One thing per line", KeptLine, NDJSON))
    return router


def _asked(link: Link, values: dict[str, Any]) -> StatisticsQuestion:
    more = {name: values[name] for name in ("as_of", "step", "zone", "limit") if name in values}
    return StatisticsQuestion(
        created_at=link.created_at, now=utc_now(), start=values.get("from"), end=values.get("to"), **more
    )


async def _lines(parts: LinkParts, link: Link, span: Span) -> AsyncIterator[bytes]:
    names = VisitDocument.__struct_fields__
    async for batch in parts.visits.events(link.id, span):
        shown = (VisitDocument(*(getattr(visit, name) for name in names)) for visit in batch)
        yield b"".join(msgspec.json.encode(each) + b"\n" for each in shown)


async def _after(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for each in others:
        yield each


def _without_names(edit: EditDocument, asker: Asker) -> EditDocument:
    """A stranger, who has but an edit token, learns that an administrator changed their link, and not which."""
    if asker.caller != ANONYMOUS or edit.by == ANONYMOUS.name:
        return edit
    return msgspec.structs.replace(edit, by="admin")


def _answer(document: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json", headers=_NO_STORE)
