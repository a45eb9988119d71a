"""The routes of places, as FastAPI describes them; what they answer is made by the same code as on the hot path."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from starlette.types import Scope

from waypost.kernel.errors import WaypostError
from waypost.web.http.parameters import Parameters
from waypost.web.http.routing import readable, without_slash
from waypost.web.places import openapi as says
from waypost.web.places.answer import Answer, AnswerResponse, problem_answer
from waypost.web.places.ogc_answers import OgcAnswers
from waypost.web.places.place_access import PlacesGate
from waypost.web.places.place_answers import GenerationGone, NotOpen, PlaceAnswers
from waypost.web.places.place_request import PlaceRequest
from waypost.web.places.tile_answers import TileAnswers

Handler = Callable[..., Answer]


@dataclass(frozen=True)
class PlaceRoute:
    """`inside`: the parameters inside the path, described. The handler gets their values, in their order.

    `tagged`: its answers have an ETag. `about`: it says nothing about places, and so is never closed.
    """

    path: str
    handler: Handler
    takes: Parameters
    gives: says.Described
    inside: tuple[says.Described, ...] = ()
    tagged: bool = True
    about: bool = False


class Front:
    """Everything that answers about places; turns a request into a `PlaceRequest`, and an error into a problem."""

    def __init__(self, answers: PlaceAnswers, public_url: str, gate: PlacesGate | None = None) -> None:
        self._answers = answers
        self._public_url = public_url
        self.gate = gate
        self.tiles = TileAnswers(answers)
        self.ogc = OgcAnswers(answers, self.tiles)

    def routes(self) -> list[PlaceRoute]:
        answers, ogc, tiles = self._answers, self.ogc, self.tiles
        items = "/collections/places/items"
        # The order matters: `counts` is not a place.
        return [
            PlaceRoute("/v1/places", answers.places, answers.for_list, says.COLLECTION),
            PlaceRoute("/v1/places/counts", answers.counts, answers.for_counts, says.COUNTS),
            PlaceRoute("/v1/places/{place}", answers.place, answers.for_place, says.FEATURE, (says.PLACE,)),
            PlaceRoute("/conformance", ogc.conformance, ogc.formed, says.CONFORMANCE, tagged=False, about=True),
            PlaceRoute("/collections", ogc.collections, ogc.formed, says.COLLECTIONS, tagged=False),
            PlaceRoute("/collections/places", ogc.collection, ogc.formed, says.ABOUT, tagged=False),
            PlaceRoute("/collections/places/schema", ogc.schema, ogc.plain, says.SCHEMA, tagged=False),
            PlaceRoute("/collections/places/queryables", ogc.queryables, ogc.plain, says.SCHEMA, tagged=False),
            PlaceRoute(items, answers.items, answers.for_items, says.COLLECTION | says.PAGE),
            PlaceRoute(f"{items}/{{place}}", answers.item, answers.for_item, says.FEATURE | says.PAGE, (says.PLACE,)),
            PlaceRoute("/tiles/places.json", ogc.tiles, ogc.plain, says.TILEJSON, tagged=False),
            PlaceRoute("/tiles/{z}/{x}/{y}.mvt", tiles.tile, tiles.parameters, says.TILE, says.TILE_NUMBERS),
        ]

    def router(self) -> APIRouter:
        router = APIRouter(tags=["places"])
        for route in self.routes():
            self._add(router, route)
        return router

    def _add(self, router: APIRouter, route: PlaceRoute) -> None:
        gate = None if route.about else self.gate

        async def endpoint(request: Request) -> Response:
            if gate:
                await gate.check(request)
            answer = await self.answer(route.handler, request.scope, *request.path_params.values())
            if answer.status == 404 and request.url.path.endswith("/"):  # noqa: PLR2004 - not found
                # The slash may have been meant as part of an id; it was not.
                return without_slash(request.scope)
            return AnswerResponse(answer)

        readable(
            router,
            route.path.replace("{place}", "{place:place}"),
            endpoint,
            name=route.handler.__name__,
            description=route.handler.__doc__,
            responses=says.answers(route.gives, tagged=route.tagged) | (says.CLOSED if gate else {}),
            openapi_extra={"parameters": [*route.inside, *route.takes.described()]}
            | ({"security": says.SECURITY} if gate else {}),
        )

    def place_request(self, query: bytes, headers: Mapping[bytes, bytes], scheme: str) -> PlaceRequest:
        return PlaceRequest(query, headers, scheme, self._public_url, self.gate is not None)

    async def answer(self, handler: Handler, scope: Scope, *inside: str) -> Answer:
        """Returns the handler's answer. An old generation that still exists is opened in a thread, and asked again."""
        request = self.place_request(scope["query_string"], dict(scope["headers"]), scope["scheme"])
        try:
            try:
                return handler(request, *inside)
            except NotOpen as wanted:
                opened = await asyncio.to_thread(self._answers.live.keep, wanted.generation)
                answer = handler(request, *inside)
                # Held until here, so that no other request could close it.
                del opened
                return answer
        except NotOpen as wanted:
            gone = GenerationGone(
                f"the generation {wanted.generation} no longer exists; begin again without `generation`"
            )
            return problem_answer(gone)
        except WaypostError as error:
            return problem_answer(error)

    def answer_now(self, handler: Handler, request: PlaceRequest, *inside: str) -> Answer | None:
        """Like `answer`, for a caller who cannot wait: None if the answer needs a generation that is not open."""
        try:
            return handler(request, *inside)
        except NotOpen:
            return None
        except WaypostError as error:
            return problem_answer(error)
