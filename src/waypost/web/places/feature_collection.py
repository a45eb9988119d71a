"""GeoJSON around the stored Features: collections with their counts, and links."""

from functools import lru_cache

import msgspec

from waypost.serving.reading.reader import Generation
from waypost.serving.reading.selected import Selected
from waypost.web.places.answer import Chunk
from waypost.web.places.place_request import PlaceRequest

_KIND = "application/geo+json"

Links = list[dict[str, str]]


def collection(found: Selected, generation: Generation, links: Links) -> list[Chunk]:
    """A FeatureCollection with the members that OGC API Features asks for, and the attribution.

    `timeStamp` is left out: it would make every answer differ, and the header Date says the same.
    """
    matched = b"" if found.matched is None else b'"numberMatched":%d,' % found.matched
    metres = b""
    if found.metres is not None:
        metres = b'"metres":%b,' % msgspec.json.encode([round(each, 1) for each in found.metres.tolist()])
    opening = b'{"type":"FeatureCollection",%b"numberReturned":%d,%b"links":%b,%b"features":[' % (
        matched,
        len(found.rows),
        _origin(generation.name, generation.manifest.attribution),
        msgspec.json.encode(links),
        metres,
    )
    return [opening, *found.chunks(), b"]}"]


@lru_cache(16)
def _origin(generation: str, attribution: tuple[str, ...]) -> bytes:
    return b'"generation":"%b","attribution":%b,' % (generation.encode(), msgspec.json.encode(attribution))


def own(request: PlaceRequest, path: str) -> Links:
    return [{"rel": "self", "type": _KIND, "href": request.address(path)}]


def forms(request: PlaceRequest, path: str) -> Links:
    """Links to the document itself, and to its page for people."""
    return [*own(request, path), {"rel": "alternate", "type": "text/html", "href": request.address(path, f="html")}]


def following(request: PlaceRequest, path: str, generation: Generation, found: Selected) -> Links:
    """The link to the next page, which is of the same generation; none after the last."""
    if found.next is None:
        return []
    href = request.address(path, generation=generation.name, cursor=found.next)
    return [{"rel": "next", "type": _KIND, "href": href}]
