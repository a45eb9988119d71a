"""Places over HTTP: one by its id, and those in a box, as slices of the map."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from waypost.kernel.errors import NotFound, TransientError
from waypost.places.place import place_id
from waypost.serving.boxes import parse_box
from waypost.serving.format import NoSnapshot
from waypost.serving.reader import Generation, feature_collection
from waypost.serving.shelf import LiveGeneration

_GEOJSON = "application/geo+json"
_WORLD = "-180,-90,180,90"
_DEFAULT_LIMIT = 100


class UnknownPlace(NotFound):
    """No place has this id."""

    slug = "unknown-place"


class NotReady(TransientError):
    """There is no snapshot to answer from yet."""

    slug = "no-snapshot"


def place_routes(live: LiveGeneration, *, most: int) -> APIRouter:
    router = APIRouter(tags=["places"])

    async def one(request: Request, place: str) -> Response:
        """A place as a GeoJSON Feature, by its id or its external id (such as `ocm:2388`)."""
        generation = _generation(live)
        feature = generation.get(_to_id(place))
        if feature is None:
            raise UnknownPlace(f"there is no place {place[:80]!r}")
        return _answer(request, generation, feature)

    async def many(
        request: Request,
        bbox: Annotated[str, Query(description="west,south,east,north in degrees", max_length=200)] = _WORLD,
        limit: Annotated[
            int, Query(ge=1, description="most places to return; larger values are lowered")
        ] = _DEFAULT_LIMIT,
    ) -> Response:
        """Places in a box as a GeoJSON FeatureCollection; `numberMatched` says how many there are in all."""
        generation = _generation(live)
        found = generation.box(*parse_box(bbox), limit=min(limit, most))
        return _answer(request, generation, feature_collection(found))

    for path in ("/v1/places", "/collections/places/items"):
        router.add_api_route(path, many, methods=["GET", "HEAD"], response_class=Response)
        router.add_api_route(f"{path}/{{place}}", one, methods=["GET", "HEAD"], response_class=Response)
    return router


def _generation(live: LiveGeneration) -> Generation:
    try:
        return live.generation
    except NoSnapshot as error:
        raise NotReady(str(error), next_step=error.next_step) from error


def _to_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        return place_id(text)


def _answer(request: Request, generation: Generation, body: bytes | memoryview) -> Response:
    headers = {"ETag": f'"{generation.name}"', "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=_GEOJSON, headers=headers)
