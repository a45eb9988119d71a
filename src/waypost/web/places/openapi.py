"""What goes in and out of the routes of places, for the API's description."""

from typing import Any

from waypost.serving.reading.tiles import DEEPEST

Described = dict[str, Any]


def _is(kind: str, schema: Described) -> Described:
    return {kind: {"schema": schema}}


def _object(required: list[str], **properties: Described) -> Described:
    return {"type": "object", "required": required, "properties": properties}


def _list(items: Described, **more: Any) -> Described:
    return {"type": "array", "items": items, **more}


def answers(content: Described, *, tagged: bool) -> dict[int | str, Described]:
    """The answers of a route; if they have an ETag (`tagged`), 304 is one of them."""
    found: dict[int | str, Described] = {200: {"description": "Found", "content": content}}
    return found | {304: {"description": "The client's copy is still current"}} if tagged else found


# Where places are closed.
_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
CLOSED: dict[int | str, Described] = {
    401: {"description": "A problem: key-needed, key-refused, key-expired", "content": _PROBLEM},
    403: {"description": "A problem: scope-missing", "content": _PROBLEM},
}
SECURITY: list[Described] = [{"bearer": []}, {"key": []}]

_TEXT: Described = {"type": "string"}
_COUNT: Described = {"type": "integer", "minimum": 0}
_LINK = _object(["href", "rel"], href=_TEXT, rel=_TEXT, type=_TEXT, title=_TEXT)
_LINKS = _list(_LINK)
_POINT = _object(
    ["type", "coordinates"],
    type={"type": "string", "enum": ["Point"]},
    coordinates=_list({"type": "number"}, minItems=2, maxItems=2),
)
_FEATURE = _object(
    ["type", "id", "geometry", "properties"],
    type={"type": "string", "enum": ["Feature"]},
    id={"type": "string", "format": "uuid"},
    geometry=_POINT,
    properties={"type": "object"},
    links=_LINKS,
)
_ABOUT = _object(["id", "links"], id=_TEXT, title=_TEXT, description=_TEXT, links=_LINKS)

FEATURE = _is("application/geo+json", _FEATURE)
COLLECTION = _is(
    "application/geo+json",
    _object(
        ["type", "features", "numberReturned", "generation", "links"],
        type={"type": "string", "enum": ["FeatureCollection"]},
        features=_list(_FEATURE),
        numberMatched=_COUNT,
        numberReturned=_COUNT,
        generation=_TEXT,
        attribution=_list(_TEXT),
        metres=_list({"type": "number"}),
        links=_LINKS,
    ),
)
PAGE = _is("text/html", _TEXT)
COUNTS = _is(
    "application/json",
    _object(
        ["by", "values", "counts"],
        by=_TEXT,
        values=_COUNT,
        counts=_list(_object(["value", "count"], value=_TEXT, count=_COUNT)),
    ),
)
LANDING = _is("application/json", _object(["links"], title=_TEXT, description=_TEXT, links=_LINKS)) | PAGE
CONFORMANCE = _is("application/json", _object(["conformsTo"], conformsTo=_list(_TEXT))) | PAGE
COLLECTIONS = _is("application/json", _object(["links", "collections"], links=_LINKS, collections=_list(_ABOUT))) | PAGE
ABOUT = _is("application/json", _ABOUT) | PAGE
SCHEMA = _is("application/schema+json", {"type": "object"})
TILEJSON = _is("application/json", _object(["tilejson", "tiles"], tilejson=_TEXT, tiles=_list(_TEXT)))
TILE = _is("application/vnd.mapbox-vector-tile", {"type": "string", "format": "binary"})


def _inside(name: str, explain: str, schema: Described) -> Described:
    return {"name": name, "in": "path", "required": True, "description": explain, "schema": schema}


PLACE = _inside("place", "the place's id, or its external id, such as `ocm:2388`", {"type": "string", "minLength": 1})
TILE_NUMBERS = (
    _inside("z", "zoom", {"type": "integer", "minimum": 0, "maximum": DEEPEST}),
    _inside("x", "column, from the west", {"type": "integer", "minimum": 0}),
    _inside("y", "row, from the north", {"type": "integer", "minimum": 0}),
)
