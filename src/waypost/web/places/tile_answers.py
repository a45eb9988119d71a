"""Vector tiles, and the document that says where they are (TileJSON)."""

from typing import Any

from waypost.serving.reading.tiles import DEEPEST, LAYER
from waypost.web.http.parameter_values import whole
from waypost.web.http.parameters import BadParameter, Parameters
from waypost.web.places.answer import Answer
from waypost.web.places.answer_finishing import AnswerLook, give
from waypost.web.places.parameters import GENERATION
from waypost.web.places.place_answers import PlaceAnswers
from waypost.web.places.place_request import PlaceRequest

_TILE = AnswerLook(b"application/vnd.mapbox-vector-tile")
# Past this, clients enlarge what they have. A tile is a street wide, and seldom has so many places that they are
# clustered.
_FINEST = 18
_EDGE = 85.0511287798066
_FIELDS = {
    "id": "String",
    "name": "String",
    "status": "String",
    "power_kw": "Number",
    "country": "String",
    "operator": "String",
    "point_count": "Number",
}


class TileAnswers:
    def __init__(self, answers: PlaceAnswers) -> None:
        self._answers = answers
        self.parameters = Parameters(GENERATION)

    def tile(self, request: PlaceRequest, zoom: str, column: str, row: str) -> Answer:
        """Places, or clusters of them where they are many, as a Mapbox Vector Tile."""
        values = self.parameters.read(request.query)
        z = _number("z", zoom, DEEPEST)
        last = 2**z - 1
        x, y = _number("x", column, last), _number("y", row, last)
        generation = self._answers.choose(values)
        look = _TILE._replace(pinned="generation" in values)
        return give(request, generation, look, lambda: [generation.tile(z, x, y)])

    def about(self, request: PlaceRequest) -> dict[str, Any]:
        generation = self._answers.live.generation
        return {
            "tilejson": "3.0.0",
            "name": "Places",
            "description": f"{generation.count:,} places",
            "attribution": "; ".join(generation.manifest.attribution),
            "scheme": "xyz",
            "tiles": [f"{request.base}/tiles/{{z}}/{{x}}/{{y}}.mvt"],
            "minzoom": 0,
            "maxzoom": _FINEST,
            "bounds": [-180, -_EDGE, 180, _EDGE],
            "vector_layers": [{"id": LAYER, "fields": _FIELDS}],
        }


def _number(name: str, text: str, most: int) -> int:
    try:
        return whole(0, most)(text)
    except ValueError as error:
        raise BadParameter(f"{name}: {error}", parameter=name) from None
