"""The routes of places, as FastAPI describes them; what they answer is made by the same code as on the hot path."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from starlette.types import Scope

from waypost.kernel.errors import WaypostError
from waypost.web.http.routing import readable
from waypost.web.places import description as says
from waypost.web.places.answer import Answer, AnswerResponse, problem_answer
from waypost.web.places.api import GenerationGone, NotOpen, PlacesApi
from waypost.web.places.asking import Asking
from waypost.web.places.ogc_answers import Documents
from waypost.web.places.parameters import Parameters
from waypost.web.places.tiles import TileAnswers

Handler = Callable[..., Answer]


@dataclass(frozen=True)
class PlaceRoute:
    """`inside`: the parameters inside the path, described. The handler gets their values, in their order.

    `tagged`: its answers have an ETag.
    """

    path: str
    handler: Handler
    takes: Parameters
    gives: says.Described
    inside: tuple[says.Described, ...] = ()
    tagged: bool = True


class Front:
    """Everything that answers about places, and what turns a request into an `Asking` and an error into a problem."""

    def __init__(self, api: PlacesApi, public_url: str) -> None:
        self._api = api
        self._public_url = public_url
        self.tiles = TileAnswers(api)
        self.documents = Documents(api, self.tiles)

    def routes(self) -> list[PlaceRoute]:
        api, docs, tiles = self._api, self.documents, self.tiles
        items = "/collections/places/items"
        # The order matters: `counts` is not a place.
        return [
            PlaceRoute("/v1/places", api.places, api.for_list, says.COLLECTION),
            PlaceRoute("/v1/places/counts", api.counts, api.for_counts, says.COUNTS),
            PlaceRoute("/v1/places/{place}", api.place, api.for_place, says.FEATURE, (says.PLACE,)),
            PlaceRoute("/conformance", docs.conformance, docs.formed, says.CONFORMANCE, tagged=False),
            PlaceRoute("/collections", docs.collections, docs.formed, says.COLLECTIONS, tagged=False),
            PlaceRoute("/collections/places", docs.collection, docs.formed, says.ABOUT, tagged=False),
            PlaceRoute("/collections/places/schema", docs.schema, docs.plain, says.SCHEMA, tagged=False),
            PlaceRoute("/collections/places/queryables", docs.queryables, docs.plain, says.SCHEMA, tagged=False),
            PlaceRoute(items, api.items, api.for_items, says.COLLECTION | says.PAGE),
            PlaceRoute(f"{items}/{{place}}", api.item, api.for_item, says.FEATURE | says.PAGE, (says.PLACE,)),
            PlaceRoute("/tiles/places.json", docs.tiles, docs.plain, says.TILEJSON, tagged=False),
            PlaceRoute("/tiles/{z}/{x}/{y}.mvt", tiles.tile, tiles.parameters, says.TILE, says.TILE_NUMBERS),
        ]

    def router(self) -> APIRouter:
        router = APIRouter(tags=["places"])
        for route in self.routes():
            self._add(router, route)
        return router

    def _add(self, router: APIRouter, route: PlaceRoute) -> None:
        async def endpoint(request: Request) -> Response:
            return AnswerResponse(await self.answer(route.handler, request.scope, *request.path_params.values()))

        readable(
            router,
            route.path.replace("{place}", "{place:place}"),
            endpoint,
            name=route.handler.__name__,
            description=route.handler.__doc__,
            responses=says.answers(route.gives, tagged=route.tagged),
            openapi_extra={"parameters": [*route.inside, *route.takes.described()]},
        )

    def asking(self, query: bytes, headers: Mapping[bytes, bytes], scheme: str) -> Asking:
        return Asking(query, headers, scheme, self._public_url)

    async def answer(self, handler: Handler, scope: Scope, *inside: str) -> Answer:
        """Returns the handler's answer. An old generation that still exists is opened in a thread, and asked again."""
        asking = self.asking(scope["query_string"], dict(scope["headers"]), scope["scheme"])
        try:
            try:
                return handler(asking, *inside)
            except NotOpen as wanted:
                opened = await asyncio.to_thread(self._api.live.keep, wanted.generation)
                answer = handler(asking, *inside)
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

    def answer_now(self, handler: Handler, asking: Asking, *inside: str) -> Answer | None:
        """Like `answer`, for a caller who cannot wait: None if the answer needs a generation that is not open."""
        try:
            return handler(asking, *inside)
        except NotOpen:
            return None
        except WaypostError as error:
            return problem_answer(error)
