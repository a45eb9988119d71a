"""Reports of abuse: a form for everybody, and for the site's operator a line in the log and a metric to watch."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import TransientError
from waypost.sharing.phrases.matching import phrase_in
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import ABUSE_REPORTS
from waypost.web.follow import html_pages
from waypost.web.follow.form_reading import read_form
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.routing import readable

log = get_logger("links")

_LONGEST_PHRASE = 200
# Nobody reads more; a flood must not fill the log.
_BURST = 20
_SECONDS_EACH = 10.0


class Allowance:
    """`burst` at once, and one more every `seconds_each`."""

    def __init__(self, burst: int, seconds_each: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst, self._seconds_each, self._clock = burst, seconds_each, clock
        self._left, self._at = float(burst), clock()

    def take(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) / self._seconds_each)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def report_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(include_in_schema=False)
    allowance = Allowance(_BURST, _SECONDS_EACH)

    async def form(phrase: Annotated[str, Query(max_length=_LONGEST_PHRASE)] = "") -> Response:
        return html_pages.report_form(phrase)

    async def report(request: Request) -> Response:
        fields = await read_form(request, parts)
        phrase, text = fields.get("phrase", ""), _printable(fields.get("text", ""))
        if not text:
            return html_pages.message(400, "Nothing was said", "Go back, and say what is wrong with the link.")
        try:
            # People copy the whole address.
            known = await parts.cache.find(phrase_in(phrase)[:_LONGEST_PHRASE])
        except TransientError:
            return html_pages.away()
        if known is None:
            return html_pages.unknown()
        if not allowance.take():
            ABUSE_REPORTS.labels("dropped").inc()
            refused = html_pages.message(
                429, "Too many reports", "Others are reporting links right now. Try again later."
            )
            refused.headers["Retry-After"] = f"{_SECONDS_EACH:.0f}"
            return refused
        link = known.link
        ABUSE_REPORTS.labels("taken").inc()
        log.warning("abuse-report", link=link.id, phrase=link.phrase, target=link.target, text=text)
        return html_pages.message(200, "Thank you", "The people who run this site will look at it.")

    readable(router, "/-/report", form, name="report_form")
    router.add_api_route("/-/report", report, methods=["POST"], response_class=Response)
    return router


def _printable(text: str) -> str:
    """The text as one bounded line that is safe to print: a log is read on terminals too."""
    words = " ".join(text[: html_pages.LONGEST_REPORT].split())
    return "".join(letter for letter in words if letter.isprintable())
