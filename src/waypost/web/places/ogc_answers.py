"""Small documents around the places, made for each request: what OGC API Features asks for, and TileJSON."""

from typing import Any

import msgspec

from waypost.serving.reading.reader import Generation
from waypost.web.places import html_pages, ogc_documents
from waypost.web.places.answer import Answer
from waypost.web.places.answer_headers import JSON, PAGE, AnswerLook, finish
from waypost.web.places.api import PlacesApi, is_html
from waypost.web.places.asking import Asking
from waypost.web.places.parameters import FORM, Parameters
from waypost.web.places.tiles import TileAnswers

_SCHEMA = AnswerLook(b"application/schema+json")


class Documents:
    def __init__(self, api: PlacesApi, tiles: TileAnswers) -> None:
        self._api, self._tiles = api, tiles
        self.formed, self.plain = Parameters(FORM), Parameters()

    def landing(self, asking: Asking) -> Answer:
        """What this is, and where everything else is."""
        about = ogc_documents.about(asking.base, places=True)
        page = html_pages.document(about["title"], about["description"], about["links"])
        return self._either(asking, about, page)

    def conformance(self, asking: Asking) -> Answer:
        """Which parts of OGC API Features this API conforms to."""
        return self._either(
            asking,
            ogc_documents.conformance(),
            html_pages.listed("What this API conforms to", ogc_documents.CONFORMS_TO),
        )

    def collections(self, asking: Asking) -> Answer:
        """The collections; places are the only one."""
        found = ogc_documents.collections(asking.base, self._generation)
        one = found["collections"][0]
        return self._either(asking, found, html_pages.document("Collections", one["description"], one["links"]))

    def collection(self, asking: Asking) -> Answer:
        """What the collection of places is, and where its items are."""
        found = ogc_documents.collection(asking.base, self._generation)
        return self._either(asking, found, html_pages.document(found["title"], found["description"], found["links"]))

    def schema(self, asking: Asking) -> Answer:
        """The fields of a place, as JSON Schema."""
        return self._json(asking, ogc_documents.schema(asking.base), _SCHEMA)

    def queryables(self, asking: Asking) -> Answer:
        """What items can be filtered by, as JSON Schema."""
        return self._json(asking, ogc_documents.queryables(asking.base), _SCHEMA)

    def tiles(self, asking: Asking) -> Answer:
        """Where the vector tiles are, as TileJSON."""
        return self._json(asking, self._tiles.about(asking), JSON)

    @property
    def _generation(self) -> Generation:
        return self._api.live.generation

    def _json(self, asking: Asking, document: Any, look: AnswerLook) -> Answer:
        self.plain.read(asking.query)
        return finish(asking, [msgspec.json.encode(document)], look, None)

    def _either(self, asking: Asking, document: Any, page: str) -> Answer:
        if is_html(asking, self.formed.read(asking.query)):
            return finish(asking, [page.encode()], PAGE, None)
        return finish(asking, [msgspec.json.encode(document)], JSON._replace(by_accept=True), None)
