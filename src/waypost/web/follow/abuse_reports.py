"""Reports of abuse: a form for everybody. Reports are kept for the site's administrators, who are told by the log."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import TransientError
from waypost.sharing.phrases.matching import phrase_in
from waypost.sharing.reports.report import new_report, printable
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import ABUSE_REPORTS
from waypost.web.follow import html_pages
from waypost.web.follow.form_reading import read_form
from waypost.web.follow.link_cache import CachedLink
from waypost.web.follow.report_allowances import Allowance, AllowanceByAddress
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.proxies import by_name
from waypost.web.http.routing import readable

log = get_logger("links")

_LONGEST_PHRASE = 200
# Nobody reads more; a flood must not fill the log.
_BURST, _SECONDS_EACH = 20, 10.0
# Somebody who means it has a few links to report, not fifty.
_BURST_OF_ADDRESS, _SECONDS_EACH_OF_ADDRESS = 5, 60.0


def report_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    everybody = Allowance(_BURST, _SECONDS_EACH)
    each_address = AllowanceByAddress(_BURST_OF_ADDRESS, _SECONDS_EACH_OF_ADDRESS)

    async def form(phrase: Annotated[str, Query(max_length=_LONGEST_PHRASE)] = "") -> Response:
        return html_pages.report_form(phrase)

    async def report(request: Request) -> Response:
        fields = await read_form(request, parts)
        text = printable(fields.get("text", ""))
        if not text:
            return html_pages.message(400, "Nothing was said", "Go back, and say what is wrong with the link.")
        try:
            # People copy the whole address.
            known = await parts.cache.find(phrase_in(fields.get("phrase", ""))[:_LONGEST_PHRASE])
            if known is None:
                return html_pages.unknown()
            if not each_address.take(parts.proxies.client_of(request, by_name(request.scope["headers"]))):
                return _dropped(_SECONDS_EACH_OF_ADDRESS, "You have reported several links already. Try again later.")
            if not everybody.take():
                return _dropped(_SECONDS_EACH, "Others are reporting links right now. Try again later.")
            await _keep(parts, known, text)
        except TransientError:
            return html_pages.away()
        return html_pages.message(200, "Thank you", "The people who run this site will look at it.")

    readable(router, "/-/report", form, name="report_form")
    router.add_api_route("/-/report", report, methods=["POST"], response_class=Response)
    return router


async def _keep(parts: FollowParts, known: CachedLink, text: str) -> None:
    """Reporters are thanked all the same when a link has reports enough: one more would tell nobody anything."""
    report = new_report(known.link, text, utc_now())
    is_kept = await parts.reports.add(report)
    ABUSE_REPORTS.labels("taken" if is_kept else "dropped").inc()
    if is_kept:
        log.warning("abuse-report", report=report.id, link=report.link_id, phrase=report.phrase)


def _dropped(seconds: float, why: str) -> Response:
    ABUSE_REPORTS.labels("dropped").inc()
    refused = html_pages.message(429, "Too many reports", why)
    refused.headers["Retry-After"] = f"{seconds:.0f}"
    return refused
