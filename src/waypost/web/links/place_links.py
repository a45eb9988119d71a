"""The share link of a place: places and links are put together here, since neither knows of the other."""

import asyncio

from fastapi import APIRouter, Request, Response

from waypost.places.place import read_id
from waypost.serving.shelf import LiveGeneration
from waypost.sharing.links.draft import Draft
from waypost.sharing.links.link import LinkDocument
from waypost.sharing.links.targets import place_page
from waypost.web.http.authentication import WriteGuard
from waypost.web.http.parameters import BadParameter, Parameters
from waypost.web.links.creation_checks import may_make
from waypost.web.links.openapi import SECURITY, gives, refuses
from waypost.web.links.route_dependencies import LinkParts
from waypost.web.links.single_link_routes import answer_made
from waypost.web.places.openapi import PLACE
from waypost.web.places.place_access import PlacesGate
from waypost.web.places.place_answers import UnknownPlace

_NO_PARAMETERS = Parameters()


def place_link_routes(
    parts: LinkParts, live: LiveGeneration, guard: WriteGuard, gate: PlacesGate | None = None
) -> APIRouter:
    router = APIRouter(tags=["links"])
    # A caller who asks twice at once gets one link. Two processes may make one each; the later is found from then on.
    one_at_a_time = asyncio.Lock()

    async def share_place(request: Request) -> Response:
        """The link that leads to the place's own page: the one that you have, or a new one. It takes no body."""
        asker = await guard(request)
        may_make(parts, asker)
        if gate:
            gate.admit(asker)
        _NO_PARAMETERS.read(request.scope["query_string"])
        if (await request.body()).strip() not in {b"", b"{}"}:
            raise BadParameter("body: leave it empty; there is nothing to say about it", parameter="body")
        place = request.path_params["place"]
        found = read_id(place)
        if live.generation.get(found) is None:
            raise UnknownPlace(f"there is no place {place[:80]!r}")
        place_id = str(found)
        draft = Draft(target=place_page(place_id), place_id=place_id, reuse=True, owner=asker.caller.owner)
        async with one_at_a_time:
            # The only target on our own site: we have put it together ourselves.
            made = await parts.author.make(draft, asker.caller.name, inside=True)
        parts.cache.invalidate(made.link.phrase)
        return await answer_made(parts, request, asker, made)

    router.add_api_route(
        "/v1/places/{place:place}/link",
        share_place,
        methods=["POST"],
        response_class=Response,
        status_code=201,
        responses={
            201: gives("Made", LinkDocument, Location="where the link can be looked at"),
            200: gives("There already", LinkDocument, Location="where the link can be looked at"),
            400: refuses("bad-parameter", "key-in-address", "several-keys"),
            401: refuses("key-refused"),
            403: refuses("loopback-only", "scope-missing"),
            404: refuses("unknown-place"),
            503: refuses("no-snapshot", "no-phrase-free"),
        },
        openapi_extra={"parameters": [PLACE], "security": SECURITY},
    )
    return router
