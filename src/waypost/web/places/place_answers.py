"""Answers to questions about places, made of slices of one generation.

The docstrings of `PlaceAnswers`'s methods are what the API's description says about their routes.
"""

import re
from typing import Any

import msgspec

from waypost.kernel.errors import NotFound, TerminalError
from waypost.places.place import read_id
from waypost.serving.reading.query import Query
from waypost.serving.reading.reader import Generation
from waypost.serving.reading.selected import Selected
from waypost.serving.shelf import LiveGeneration
from waypost.web.http.accept_headers import wants_html
from waypost.web.http.parameters import BadParameter, Parameters
from waypost.web.places import html_pages
from waypost.web.places.answer import Answer, Chunk
from waypost.web.places.answer_finishing import FEATURE, ITEM, JSON, PAGE, AnswerLook, give
from waypost.web.places.feature_collection import collection, following, forms, own
from waypost.web.places.parameters import DEFAULT_LIMIT, FORM, GENERATION, Listing, counting, query_fields
from waypost.web.places.place_request import PlaceRequest

ITEMS, PLACES = "/collections/places/items", "/v1/places"

# Pages are for people, and other requests wait while one is made.
_MOST_ON_A_PAGE = 500
_OUR_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Values = dict[str, Any]


class UnknownPlace(NotFound):
    """No place has this id."""


class GenerationGone(TerminalError):
    """The generation that was asked for no longer exists; begin again without naming one."""

    http_status = 410


class NotOpen(Exception):
    """The generation is not open, and opening it takes longer than the event loop may wait."""

    def __init__(self, generation: str) -> None:
        super().__init__(generation)
        self.generation = generation


class PlaceAnswers:
    def __init__(self, live: LiveGeneration, *, most: int) -> None:
        self.live = live
        self._default = min(DEFAULT_LIMIT, most)
        self.for_list = Listing(most)
        self.for_items = Listing(most, [FORM])
        self.for_place = Parameters(GENERATION)
        self.for_item = Parameters(GENERATION, FORM)
        self.for_counts = counting(most)

    def place(self, request: PlaceRequest, place: str) -> Answer:
        """A place as a GeoJSON Feature, by its id or its external id (such as `ocm:2388`)."""
        values = self.for_place.read(request.query) if request.query else {}
        generation = self.choose(values)
        feature = _find(generation, place)
        return give(request, generation, _pinned(FEATURE, values), lambda: [feature])

    def item(self, request: PlaceRequest, place: str) -> Answer:
        """A place as a GeoJSON Feature with links, or as a page; by its id or its external id."""
        values = self.for_item.read(request.query)
        generation = self.choose(values)
        feature = _find(generation, place)
        path = f"{ITEMS}/{read_id(place)}"

        def page() -> list[Chunk]:
            return [html_pages.item(request, path, feature).encode()]

        def body() -> list[Chunk]:
            above = {"rel": "collection", "type": "application/json", "href": f"{request.base}/collections/places"}
            return [feature[:-1], b',"links":', msgspec.json.encode([*forms(request, path), above]), b"}"]

        return _either(request, generation, values, page, body)

    def places(self, request: PlaceRequest) -> Answer:
        """Places as a GeoJSON FeatureCollection: in a box, near a point, by text, and by what they are."""
        values = self.for_list.read(request.query)
        generation = self.choose(values)
        query = _read(values)

        def body() -> list[Chunk]:
            found = self._select(generation, query, values)
            return collection(found, generation, own(request, PLACES) + following(request, PLACES, generation, found))

        return give(request, generation, _pinned(FEATURE, values), body)

    def items(self, request: PlaceRequest) -> Answer:
        """Places as a GeoJSON FeatureCollection or as a page; the parameters are those of `/v1/places`."""
        values = self.for_items.read(request.query)
        generation = self.choose(values)
        query = _read(values)

        def page() -> list[Chunk]:
            found = self._select(generation, query, {**values, "limit": min(self._limit(values), _MOST_ON_A_PAGE)})
            return [html_pages.items(request, ITEMS, found, following(request, ITEMS, generation, found)).encode()]

        def body() -> list[Chunk]:
            found = self._select(generation, query, values)
            return collection(found, generation, forms(request, ITEMS) + following(request, ITEMS, generation, found))

        return _either(request, generation, values, page, body)

    def counts(self, request: PlaceRequest) -> Answer:
        """How many places there are for each value of a field, most first; filters are those of `/v1/places`."""
        values = self.for_counts.read(request.query)
        generation = self.choose(values)
        query = _read(values)

        def body() -> list[Chunk]:
            counted = generation.counts(values["by"], query)
            shown = [{"value": value, "count": count} for value, count in counted[: self._limit(values)]]
            return [msgspec.json.encode({"by": values["by"], "values": len(counted), "counts": shown})]

        return give(request, generation, _pinned(JSON, values), body)

    def choose(self, values: Values) -> Generation:
        """The generation to answer from; nothing in an answer comes from another one."""
        name = values.get("generation")
        if name is None:
            return self.live.generation
        found = self.live.kept(name)
        if found is None:
            raise NotOpen(name)
        return found

    def _limit(self, values: Values) -> int:
        return int(values.get("limit", self._default))

    def _select(self, generation: Generation, query: Query, values: Values) -> Selected:
        return generation.select(query, limit=self._limit(values), start=values.get("cursor", 0))


def is_html(request: PlaceRequest, values: Values) -> bool:
    form = values.get("f")
    return form == "html" if form else wants_html(request.headers.get(b"accept", b""))


def _either(request: PlaceRequest, generation: Generation, values: Values, page: Any, body: Any) -> Answer:
    look, made = (PAGE, page) if is_html(request, values) else (ITEM, body)
    return give(request, generation, _pinned(look, values), made)


def _pinned(look: AnswerLook, values: Values) -> AnswerLook:
    return look._replace(pinned=True) if "generation" in values else look


def _find(generation: Generation, place: str) -> memoryview:
    feature = generation.find(_id_bytes(place))
    if feature is None:
        raise UnknownPlace(f"there is no place {place[:80]!r}")
    return feature


def _id_bytes(place: str) -> bytes:
    """The bytes of the id that `read_id` reads; for an id as we write it, this takes a third of the time."""
    return bytes.fromhex(place.replace("-", "")) if _OUR_ID.fullmatch(place) else read_id(place).bytes


def _read(values: Values) -> Query:
    if "cursor" in values and "generation" not in values:
        raise BadParameter(
            "cursor: rows are those of one generation, so it needs generation; follow the link next", parameter="cursor"
        )
    return Query(**query_fields(values))
