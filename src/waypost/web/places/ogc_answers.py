"""Small documents around the places, made for each request: what OGC API Features asks for, and TileJSON."""

from typing import Any

import msgspec

from waypost.serving.reading.reader import Generation
from waypost.web.http.parameters import Parameters
from waypost.web.places import html_pages, ogc_documents
from waypost.web.places.answer import Answer
from waypost.web.places.answer_finishing import JSON, PAGE, AnswerLook, finish
from waypost.web.places.parameters import FORM
from waypost.web.places.place_answers import PlaceAnswers, is_html
from waypost.web.places.place_request import PlaceRequest
from waypost.web.places.tile_answers import TileAnswers

_SCHEMA = AnswerLook(b"application/schema+json")


class OgcAnswers:
    def __init__(self, answers: PlaceAnswers, tiles: TileAnswers) -> None:
        self._answers, self._tiles = answers, tiles
        self.formed, self.plain = Parameters(FORM), Parameters()

    def landing(self, request: PlaceRequest) -> Answer:
        """What this is, and where everything else is."""
        about = ogc_documents.about(request.base, places=True)
        page = html_pages.document(about["title"], about["description"], about["links"])
        return self._either(request, about, page)

    def conformance(self, request: PlaceRequest) -> Answer:
        """Which parts of OGC API Features this API conforms to."""
        return self._either(
            request,
            ogc_documents.conformance(),
            html_pages.listed("What this API conforms to", ogc_documents.CONFORMS_TO),
        )

    def collections(self, request: PlaceRequest) -> Answer:
        """The collections; places are the only one."""
        found = ogc_documents.collections(request.base, self._generation)
        one = found["collections"][0]
        return self._either(request, found, html_pages.document("Collections", one["description"], one["links"]))

    def collection(self, request: PlaceRequest) -> Answer:
        """What the collection of places is, and where its items are."""
        found = ogc_documents.collection(request.base, self._generation)
        return self._either(request, found, html_pages.document(found["title"], found["description"], found["links"]))

    def schema(self, request: PlaceRequest) -> Answer:
        """The fields of a place, as JSON Schema."""
        return self._json(request, ogc_documents.schema(request.base), _SCHEMA)

    def queryables(self, request: PlaceRequest) -> Answer:
        """What items can be filtered by, as JSON Schema."""
        return self._json(request, ogc_documents.queryables(request.base), _SCHEMA)

    def tiles(self, request: PlaceRequest) -> Answer:
        """Where the vector tiles are, as TileJSON."""
        return self._json(request, self._tiles.about(request), JSON)

    @property
    def _generation(self) -> Generation:
        return self._answers.live.generation

    def _json(self, request: PlaceRequest, document: Any, look: AnswerLook) -> Answer:
        self.plain.read(request.query)
        return finish(request, [msgspec.json.encode(document)], look, None)

    def _either(self, request: PlaceRequest, document: Any, page: str) -> Answer:
        if is_html(request, self.formed.read(request.query)):
            return finish(request, [page.encode()], PAGE, None)
        return finish(request, [msgspec.json.encode(document)], JSON._replace(by_accept=True), None)
