"""The documents of OGC API Features around the places themselves."""

from typing import Any

from waypost import __version__
from waypost.serving.reading.reader import Generation
from waypost.web.http.parameter_values import STATUSES

TITLE = "Waypost"
_CRS = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
_RELATION = "http://www.opengis.net/def/rel/ogc/1.0/"
_OPENAPI = "application/vnd.oai.openapi+json;version=3.0"
CONFORMS_TO = [
    f"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/{name}" for name in ("core", "oas30", "html", "geojson")
]

Document = dict[str, Any]


def link(rel: str, href: str, kind: str, title: str) -> Document:
    return {"rel": rel, "type": kind, "title": title, "href": href}


def both_forms(address: str, title: str) -> list[Document]:
    return [
        link("self", address, "application/json", title),
        link("alternate", f"{address}?f=html", "text/html", f"{title}, as a page"),
    ]


def about(base: str, *, places: bool) -> Document:
    """The landing page; without places, only where the API is described."""
    here, there = both_forms(f"{base}/", "this document")
    links = [
        here,
        link("service-desc", f"{base}/openapi.json", _OPENAPI, "the API's description"),
        link("service-doc", f"{base}/docs", "text/html", "the API's documentation"),
    ]
    if places:
        tiles = link("describedby", f"{base}/tiles/places.json", "application/json", "places as vector tiles")
        links += [
            there,
            link("conformance", f"{base}/conformance", "application/json", "what this API conforms to"),
            link("data", f"{base}/collections", "application/json", "the collections"),
            tiles,
        ]
    return {"title": TITLE, "description": f"Waypost {__version__}", "links": links}


def conformance() -> Document:
    return {"conformsTo": CONFORMS_TO}


def collections(base: str, generation: Generation) -> Document:
    links = both_forms(f"{base}/collections", "the collections")
    return {"links": links, "collections": [collection(base, generation)]}


def collection(base: str, generation: Generation) -> Document:
    here = f"{base}/collections/places"
    return {
        "id": "places",
        "title": "Places",
        "description": f"{generation.count:,} places, as of generation {generation.name}",
        "attribution": "; ".join(generation.manifest.attribution),
        "itemType": "feature",
        "crs": [_CRS],
        "extent": {"spatial": {"bbox": [[-180, -90, 180, 90]], "crs": _CRS}},
        "links": [
            *both_forms(here, "this collection"),
            link("items", f"{here}/items", "application/geo+json", "the places"),
            link("items", f"{here}/items?f=html", "text/html", "the places, as a page"),
            link(f"{_RELATION}schema", f"{here}/schema", "application/schema+json", "the fields of a place"),
            link(f"{_RELATION}queryables", f"{here}/queryables", "application/schema+json", "what to filter by"),
        ],
    }


def schema(base: str) -> Document:
    """The fields of a place."""
    text, time = {"type": "string"}, {"type": "string", "format": "date-time"}
    address = dict.fromkeys(("street", "town", "region", "postcode"), text)
    connector = {"type": text, "power_kw": {"type": "number"}, "count": {"type": "integer"}}
    attributes = {
        "connectors": {"type": "array", "items": {"type": "object", "properties": connector}},
        "power_kw": {"type": "number", "description": "the largest of its connectors"},
        "points": {"type": "integer"},
    }
    properties = {
        "id": {"type": "string", "format": "uuid", "x-ogc-role": "id"},
        "geometry": {"format": "geometry-point", "x-ogc-role": "primary-geometry"},
        "external_id": text,
        "source": text,
        "name": text,
        "lat": {"type": "number"},
        "lon": {"type": "number"},
        "country": text | {"description": "ISO 3166-1 alpha-2"},
        "address": {"type": "object", "properties": address},
        "operator": text,
        "categories": {"type": "array", "items": text},
        "status": text | {"enum": list(STATUSES)},
        "attributes": {"type": "object", "properties": attributes},
        "provider_updated_at": time | {"x-ogc-role": "primary-instant"},
    }
    return _json_schema(f"{base}/collections/places/schema", "Places", properties)


def queryables(base: str) -> Document:
    """What items can be filtered by, each by a parameter of the same name."""
    text = {"type": "string"}
    properties = {
        "geometry": {"format": "geometry-point", "x-ogc-role": "primary-geometry"},
        "country": text | {"description": "ISO 3166-1 alpha-2"},
        "operator": text,
        "category": text,
        "status": text | {"enum": list(STATUSES)},
        "source": text,
    }
    return _json_schema(f"{base}/collections/places/queryables", "Places", properties)


def _json_schema(address: str, title: str, properties: Document) -> Document:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": address,
        "title": title,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
