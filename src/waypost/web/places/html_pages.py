"""Places as pages for people: plain tables, linked as the JSON is."""

from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec

from waypost.serving.reading.selected import Selected
from waypost.web.http.page_frame import POLICY, framed
from waypost.web.places.place_request import PlaceRequest

HEADERS = [(name.lower().encode(), value.encode()) for name, value in POLICY.items()]

Link = dict[str, str]


def items(request: PlaceRequest, path: str, found: Selected, more: list[Link]) -> str:
    features = msgspec.json.decode(b"".join((b"[", *found.chunks(), b"]")))
    matched = "" if found.matched is None else f" of {found.matched:,}"
    body = [
        f"<p>{len(features):,}{matched} places. {_link(request.address(path, f='json'), 'As GeoJSON')}</p>",
        "<table><tr><th>Name</th><th>Town</th><th>Country</th><th>Operator</th><th>Status</th></tr>",
        *(_row(request.base + path, each) for each in features),
        "</table>",
        *(f"<p>{_link(each['href'], 'Next page')}</p>" for each in more),
    ]
    return framed("Places", "".join(body))


def item(request: PlaceRequest, path: str, feature: memoryview) -> str:
    properties = msgspec.json.decode(feature)["properties"]
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(_shown(value))}</dd>"
        for name, value in properties.items()
        if value not in (None, [], {})
    )
    collection = _link(request.base + "/collections/places/items", "All places")
    json = _link(request.address(path, f="json"), "As GeoJSON")
    return framed(properties["name"], f"<p>{collection} · {json}</p><dl>{rows}</dl>")


def document(title: str, text: str, links: Iterable[Link]) -> str:
    """A document of links, such as the landing page."""
    shown = "".join(f"<li>{_link(each['href'], each.get('title') or each['rel'])}</li>" for each in links)
    return framed(title, f"<p>{escape(text)}</p><ul>{shown}</ul>")


def listed(title: str, texts: Iterable[str]) -> str:
    return framed(title, "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in texts) + "</ul>")


def _row(path: str, feature: dict[str, Any]) -> str:
    properties = feature["properties"]
    cells = (properties["address"].get("town"), properties["country"], properties["operator"], properties["status"])
    named = _link(f"{path}/{feature['id']}", properties["name"])
    return f"<tr><td>{named}</td>" + "".join(f"<td>{escape(each or '')}</td>" for each in cells) + "</tr>"


def _link(href: str, text: str) -> str:
    return f'<a href="{escape(href)}">{escape(text)}</a>'


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    return str(value)
