"""Following a link: GET and HEAD of its phrase, and the password that some links ask for."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from waypost.kernel.clock import utc_now
from waypost.kernel.errors import TransientError
from waypost.telemetry.metrics import REDIRECTS
from waypost.web.follow import html_pages
from waypost.web.follow.form_reading import read_form
from waypost.web.follow.link_cache import CachedLink, redirect_head
from waypost.web.follow.query_forwarding import QueryTooLong, with_query
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.follow.visitor_headers import read_visitor
from waypost.web.http.concurrency_limit import TooManyAtOnce
from waypost.web.http.encoded_headers import Head
from waypost.web.http.routing import readable

_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {"password": {"type": "string"}},
                }
            }
        },
    }
}


def redirect_routes(parts: FollowParts) -> APIRouter:
    router = APIRouter(tags=["redirect"])
    following = Following(parts)
    ends = html_pages.described(
        {
            404: "No such link",
            410: "The link has ended",
            414: "The query is too long to be passed on",
            503: "The link cannot be looked up now",
        }
    )
    asks = html_pages.described({200: "A page that asks for the password, or says that visits are limited"})
    tries = html_pages.described({403: "Not the password", 429: "Too many try at once"})
    readable(
        router,
        "/{phrase}",
        following.follow,
        name="follow",
        status_code=parts.settings.status,
        responses=asks | ends,
    )
    router.add_api_route(
        "/{phrase}",
        following.unlock,
        methods=["POST"],
        name="unlock",
        response_class=Response,
        status_code=303,
        responses=tries | ends,
        openapi_extra=_FORM,
    )
    return router


class Following:
    def __init__(self, parts: FollowParts) -> None:
        self._parts = parts

    async def follow(self, request: Request, phrase: str) -> Response:
        """Leads to the link's target. A GET is a visit, and is written down before it is answered."""

        async def lead(known: CachedLink) -> Response:
            if known.link.password is not None:
                return _counted("protected", html_pages.password_form(known.link))
            return await self._lead(request, known, self._parts.settings.status)

        return await self._with_link(phrase, lead)

    async def unlock(self, request: Request, phrase: str) -> Response:
        """Leads to the target of a protected link, if the form has its password."""
        form = await read_form(request, self._parts)

        async def lead(known: CachedLink) -> Response:
            link, password = known.link, form.get("password", "")[: html_pages.LONGEST_PASSWORD]
            if link.password is not None and not await self._parts.passwords.fits(link.id, link.password, password):
                return _counted("refused", html_pages.password_form(link, status=403, wrong="Wrong password."))
            return await self._lead(request, known, 303)

        return await self._with_link(phrase, lead)

    async def _with_link(self, phrase: str, lead: Callable[[CachedLink], Awaitable[Response]]) -> Response:
        try:
            known = await self._parts.cache.find(phrase)
            if known is None:
                return _counted("unknown", html_pages.unknown())
            if known.is_used_up or known.link.is_over(utc_now()):
                return _counted("gone", html_pages.used_up() if known.is_used_up else html_pages.ended())
            return await lead(known)
        except QueryTooLong as error:
            return _counted("refused", html_pages.message(error.http_status, "The address is too long", str(error)))
        except TooManyAtOnce as error:
            return _counted("refused", html_pages.too_many(error.retry_in))
        except TransientError:
            return _counted("away", html_pages.away())

    async def _lead(self, request: Request, known: CachedLink, status: int) -> Response:
        parts, link = self._parts, known.link
        asked, head = read_visitor(request.scope["headers"]), self._head(request, known)
        counts = request.method != "HEAD" and not asked.shown.is_preview
        if link.max_visits is not None:
            if not counts:
                return _counted("preview", html_pages.limited(link))
            if not await parts.links.count_up(link.id, link.max_visits):
                known.is_used_up = True
                return _counted("gone", html_pages.used_up())
        if counts:
            address = parts.proxies.client_of(request, asked.headers)
            parts.record(parts.observer.visit(link.id, utc_now(), address, asked.shown))
        return _counted("followed" if counts else "preview", _Redirected(status, head))

    def _head(self, request: Request, known: CachedLink) -> Head:
        link, query = known.link, request.scope["query_string"]
        target = with_query(link.target, query) if link.forward_query and query else link.target
        return redirect_head(link, target, self._parts.settings)


class _Redirected(Response):
    """A redirect with exactly these headers; the hot path writes the same ones."""

    def __init__(self, status: int, head: Head) -> None:
        super().__init__(status_code=status)
        self.raw_headers: list[Any] = [*head.headers, (b"content-length", b"0")]


def _counted(outcome: str, answer: Response) -> Response:
    REDIRECTS.labels(outcome).inc()
    return answer
