"""Reports of abuse over HTTP, for administrators: listed, looked at and closed."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request, Response

from waypost.sharing.reports.operations import close_report, show_report
from waypost.sharing.reports.report import AbuseReport, ReportClosing
from waypost.sharing.reports.store import WantedReports
from waypost.web.http import parameter_values
from waypost.web.http.authentication import JSON, WriteGuard, check_content_type
from waypost.web.http.parameters import Parameter, Parameters
from waypost.web.http.routing import readable
from waypost.web.links.link_access import admit_admin
from waypost.web.links.openapi import SECURITY, gives, refuses, takes
from waypost.web.links.request_bodies import read_closing
from waypost.web.links.route_dependencies import LinkParts

_MOST, _DEFAULT = 1000, 100
_STATUSES = ("open", "closed", "all")
_ID = "^[0-9a-f-]{1,36}$"
_NO_PARAMETERS = Parameters()


def _id(text: str) -> str:
    if not re.fullmatch(_ID, text):
        raise ValueError("take it from `next` of the page before")
    return text


_TAKEN = Parameters(
    Parameter(
        "status",
        "which reports",
        {"type": "string", "enum": list(_STATUSES), "default": "open"},
        parameter_values.choice(_STATUSES),
    ),
    Parameter(
        "limit",
        "most reports to return",
        {"type": "integer", "minimum": 1, "maximum": _MOST, "default": _DEFAULT},
        parameter_values.whole(1, _MOST),
    ),
    Parameter(
        "after",
        "reports after this one; take it from `next`",
        {"type": "string", "pattern": _ID},
        _id,
    ),
)
ReportId = Annotated[str, Path(pattern=_ID, description="the report's id")]


class ReportList(msgspec.Struct, frozen=True):
    """Oldest first. `next` is what to ask for as `after`, to go on; null after the last."""

    reports: Sequence[AbuseReport]
    next: str | None


def report_answering_routes(parts: LinkParts, guard: WriteGuard) -> APIRouter:
    router = APIRouter(tags=["reports"])
    reports = parts.follow.reports

    async def list_reports(request: Request) -> Response:
        """Reports of abuse, oldest first."""
        await admit_admin(guard, request)
        values = _TAKEN.read(request.scope["query_string"])
        status, limit = values.get("status", "open"), values.get("limit", _DEFAULT)
        wanted = WantedReports(status=None if status == "all" else status)
        found = await reports.page(wanted, values.get("after", ""), limit + 1)
        following = found[limit - 1].id if len(found) > limit else None
        return _answer(ReportList(found[:limit], following))

    async def show(request: Request, report: ReportId) -> Response:
        """A report, with the link that it is about."""
        await admit_admin(guard, request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        return _answer(await show_report(reports, report))

    async def close(request: Request, report: ReportId) -> Response:
        """Close a report, because nothing is wrong; or disable its link, which closes all reports of that link."""
        asker = await admit_admin(guard, request)
        _NO_PARAMETERS.read(request.scope["query_string"])
        check_content_type(request, JSON)
        wanted = read_closing(await request.body())
        closed = await close_report(reports, parts.links, report, asker.caller.name, disable=wanted.disable)
        parts.cache.invalidate(closed.phrase)
        return _answer(closed)

    one: dict[int | str, Any] = {
        200: gives("The report", AbuseReport),
        400: refuses("bad-parameter", "key-in-address", "several-keys"),
        401: refuses("key-refused"),
        403: refuses("loopback-only", "scope-missing"),
        404: refuses("unknown-report"),
    }
    many = {status: answer for status, answer in one.items() if status not in {200, 404}}
    readable(
        router,
        "/v1/reports",
        list_reports,
        responses={200: gives("A page of reports", ReportList), **many},
        openapi_extra={"parameters": _TAKEN.described(), "security": SECURITY},
    )
    readable(
        router,
        "/v1/reports/{report}",
        show,
        name="show_report",
        responses=one,
        openapi_extra={"security": SECURITY},
    )
    router.add_api_route(
        "/v1/reports/{report}/close",
        close,
        methods=["POST"],
        name="close_report",
        response_class=Response,
        responses={
            **one,
            409: refuses("link-changed"),
            413: refuses("body-too-large"),
            415: refuses("unsupported-content-type"),
        },
        openapi_extra={"security": SECURITY} | takes(ReportClosing),
    )
    return router


def _answer(document: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json", headers={"Cache-Control": "no-store"})
