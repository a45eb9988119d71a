"""What `/` answers: where everything is, for programs; people are led to the page with the map, if there is one."""

import msgspec
from fastapi import APIRouter, Request, Response

from waypost.web.http.accept_headers import wants_html
from waypost.web.http.routing import readable
from waypost.web.places import ogc_documents, openapi
from waypost.web.places.answer import AnswerResponse
from waypost.web.places.parameters import FORM
from waypost.web.places.routes import Front


def landing_routes(places: Front | None, *, page: bool) -> APIRouter:
    router = APIRouter(tags=["about"])

    async def landing(request: Request) -> Response:
        """Where things are; people with a browser are led to the page."""
        asks_html = wants_html(request.headers.get("accept", "").encode("latin-1"))
        if page and asks_html and "f" not in request.query_params:
            return Response(status_code=303, headers={"Location": "/-/", "Vary": "Accept"})
        if places:
            return AnswerResponse(await places.answer(places.ogc.landing, request.scope))
        body = msgspec.json.encode(ogc_documents.about("", places=False))
        return Response(body, media_type="application/json", headers={"Vary": "Accept"})

    extra = {"parameters": [FORM.described()]} if places else None
    answers = openapi.answers(openapi.LANDING, tagged=False)
    if page:
        answers[303] = {"description": "To the page with the map, for people"}
    readable(router, "/", landing, responses=answers, openapi_extra=extra)
    return router
