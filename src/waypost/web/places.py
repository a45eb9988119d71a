"""Places over HTTP: one by its id, and those in a box, as slices of the map."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from waypost.kernel.errors import NotFound
from waypost.places.place import read_id
from waypost.serving.boxes import parse_box
from waypost.serving.reader import Generation, feature_collection
from waypost.serving.shelf import LiveGeneration
from waypost.web.routing import readable

_GEOJSON = "application/geo+json"
_WORLD = "-180,-90,180,90"
_DEFAULT_LIMIT = 100


class UnknownPlace(NotFound):
    """No place has this id."""

    slug = "unknown-place"


def place_routes(live: LiveGeneration, *, most: int) -> APIRouter:
    router = APIRouter(tags=["places"])

    async def one(request: Request, place: str) -> Response:
        """A place as a GeoJSON Feature, by its id or its external id (such as `ocm:2388`)."""
        generation = live.generation
        feature = generation.get(read_id(place))
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
        generation = live.generation
        found = generation.box(*parse_box(bbox), limit=min(limit, most))
        return _answer(request, generation, feature_collection(found, generation.manifest.attribution))

    for path in ("/v1/places", "/collections/places/items"):
        readable(router, path, many)
        readable(router, f"{path}/{{place}}", one)
    return router


def _has_it(if_none_match: str, etag: str) -> bool:
    """Whether the client's copy is this one; a proxy may have weakened its tag."""
    tags = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in tags or tags == ["*"]


def _answer(request: Request, generation: Generation, body: bytes | memoryview) -> Response:
    headers = {"ETag": f'"{generation.name}"', "Cache-Control": "no-cache"}
    if _has_it(request.headers.get("if-none-match", ""), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=_GEOJSON, headers=headers)
