"""Requests that no browser sends: a request is put together of parts, most of them right and some of them odd."""

from pathlib import Path
from random import Random
from typing import Any

from support.attacks.both_paths import BothPaths, both_paths

# Else addresses in answers have the port, which is not the same for both.
_SETTINGS = {"public_url": "https://go.example.org"}
_OTTER = "/gently-golden-otter"
_LINKS: tuple[dict[str, Any], ...] = (
    {"phrase": "gently-golden-otter"},
    {"phrase": "Łódź 2026"},
    {"phrase": "passed-on", "target": "https://example.org/?a=1#b", "forward_query": True},
    {"phrase": "protected", "password": "sesame"},
    {"phrase": "limited", "max_visits": 10**9},
    {"phrase": "ended"},
)
_TARGETS = (
    *[_OTTER] * 6,
    *["/v1/places/sim:1", "/v1/places?limit=2", "/collections/places/items?limit=2&f=html", "/tiles/0/0/0.mvt"] * 2,
    *("/GentlyGolden_otter", "/gently-golden-otter+", "/gently-golden-otter.svg", "/passed-on?b=2", "/protected"),
    *("/limited", "/ended", "/nobody-made-this", "/v1/places/nowhere", "/v1/places?limit=x", "/v1/links/otter"),
    *("/%C5%81%C3%B3d%C5%BA-2026", "/collections", "/tiles/3/9/2.mvt", "/livez", "/robots.txt", "/"),
)
_ODD_TARGETS = (
    *("", "*", "gently-golden-otter", "//gently-golden-otter", "/./gently-golden-otter", "/../gently-golden-otter"),
    *("http://evil.example/gently-golden-otter", "https://localhost/v1/places", "evil.example:443", "http://"),
    *("/gently-golden-otter HTTP/1.1", "/gently golden otter", "/gently-golden-otter\t", "/gently-golden-otter\x00"),
    *("/gently%2dgolden-otter", "/gently-golden-otter%00", "/%67ently-golden-otter", "/%", "/%zz", "/%ff%fe"),
    *("/gently-golden-otter/", "/gently-golden-otter;a=b", "/gently-golden-otter?", "/gently-golden-otter#x"),
    *("/" + "x" * 130, "/" + "x" * 9000, "/?" + "a&" * 4000, "/v1/places?" + "q=a&" * 500, "/v1/places/" + "9" * 300),
    *("/\xe9\xa8", "/v1/places/sim:1?\xc3\xb6", "/v1/places/sim%3A1", "/v1//places", "/V1/places", "/v1/places/counts"),
)
_METHODS = (*["GET"] * 12, "HEAD", "HEAD", "POST", "OPTIONS", "PUT")
_ODD_METHODS = ("get", "GE T", "", "G\x00T", "DELETE", "TRACE", "PROPFIND", "PRI", "GETGET", "\xc3\x89")
_ODD_VERSIONS = ("HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.1 ", "HTTP/1.10", "HTTP/11", "", "HTTP", "1.1")
_ODD_ENDS = ("\n", "\r", "\r\r\n", "\n\r", " \r\n")
_ODD_SPACES = ("  ", "\t", "", "\x0b", "\r", "\xa0")
_HEADERS = (
    *("Accept: */*", "Accept: text/html", "Accept-Encoding: gzip, zstd", "Accept-Encoding: gzip;q=0", "DNT: 1"),
    *("User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0", "User-Agent: Slackbot 1.0"),
    *("Referer: https://news.example/front?user=7", "Accept-Language: de-AT, en;q=0.5", "Connection: keep-alive"),
    *("If-None-Match: *", 'If-None-Match: W/"x", "y"', "Sec-Purpose: prefetch", "Cookie: a=b", "Range: bytes=0-3"),
    *("X-Forwarded-For: 203.0.113.7", "Origin: https://evil.example", "Cache-Control: no-cache"),
)
_ODD_HEADERS = (
    *("Host: other.example", "Host:", "Host: a, b", "Host : localhost", "host: LOCALHOST", "HOST: [::1]:80", "Host"),
    *(" Accept: folded", "\tfolded: too", ": no name", "Bad Name: x", "Name\x00: x", "N\xe9: x", "(x): y", "=:="),
    *(
        "Empty:",
        "Tab:\tx",
        "Spaces:   x   ",
        "Nul: a\x00b",
        "Bell: \x07",
        "High: \xff\xfe",
        "Del: \x7f",
        "Return: a\rb",
    ),
    *("X-Long: " + "x" * 2100, "X-Longer: " + "x" * 66_000, "Expect: 100-continue", "Expect: nothing", "TE: trailers"),
    *("Connection: close", "Connection: Keep-Alive", "Connection: keep-alive, close", "Connection: x", "Connection:"),
    *("Connection: Upgrade\r\nUpgrade: h2c", "Connection: Upgrade\r\nUpgrade: websocket", "Upgrade: websocket"),
    *("Content-Length: 0", "Content-Length: 3", "Content-Length: +3", "Content-Length: 0x3", "Content-Length: 3, 3"),
    *("Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length:", "Content-Length: 3 3"),
    *("Content-Length: 3\r\nContent-Length: 4", "Content-Length: 3\r\nTransfer-Encoding: chunked"),
    *("Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "Transfer-Encoding: gzip, chunked"),
    *("Transfer-Encoding: identity", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity"),
    *("Transfer-Encoding:\x0bchunked", "Transfer-Encoding : chunked", "Transfer_Encoding: chunked"),
    *("User-Agent: \xf0\x9f\xa6\xa6", "Referer: javascript:alert(1)", "Referer: https://[", "Accept-Encoding: \xff"),
    *("If-None-Match: " + '"x",' * 300, "Accept: " + "a/b," * 300, "Accept-Language: " + "-" * 300, "Range: bytes=9-1"),
)
_BODIES = (
    "",
    "",
    "abc",
    "ab",
    "3\r\nabc\r\n0\r\n\r\n",
    "0\r\n\r\n",
    "zz\r\n",
    "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
    "\x00",
)


def _mostly(dice: Random, usual: str, odd: tuple[str, ...]) -> str:
    return dice.choice(odd) if dice.random() < 0.04 else usual


def _headers(dice: Random, *, odd: int) -> list[str]:
    lines = [] if dice.random() < 0.05 else ["Host: localhost"]
    lines += dice.sample(_HEADERS, dice.randint(0, 3))
    lines += dice.sample(_ODD_HEADERS, odd)
    if dice.random() < 0.3:
        dice.shuffle(lines)
    return lines


def odd_request(dice: Random) -> bytes:
    """Most have one or two oddities, and some have none, which the hot paths should take."""
    method = _mostly(dice, dice.choice(_METHODS), _ODD_METHODS)
    target = dice.choice(_ODD_TARGETS if dice.random() < 0.25 else _TARGETS)
    version = _mostly(dice, "HTTP/1.1", _ODD_VERSIONS)
    space, end = _mostly(dice, " ", _ODD_SPACES), _mostly(dice, "\r\n", _ODD_ENDS)
    lines = _headers(dice, odd=dice.choice((0, 0, 0, 1, 1, 2)))
    first = f"{method}{space}{target} {version}" if version else f"{method}{space}{target}"
    text = end.join((_mostly(dice, first, (f"\r\n{first}", f" {first}", f"\x00{first}")), *lines, "", ""))
    has_body = any("Content-Length" in line or "Transfer" in line for line in lines)
    return (text + (dice.choice(_BODIES) if has_body else "")).encode("latin-1")


def plain_request(dice: Random) -> bytes:
    """As clients send them; or with what looks like another request behind it, in its body or among its headers."""
    whole = f"GET {dice.choice(_TARGETS)} HTTP/1.1\r\n" + "\r\n".join((*_headers(dice, odd=0), "", ""))
    inside = f"GET {_OTTER} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    posted = "POST /protected HTTP/1.1\r\nHost: a\r\n"
    return dice.choice(
        (
            *[whole] * 4,
            whole + inside,
            f"{posted}Content-Length: {len(inside)}\r\n\r\n{inside}",
            f"{posted}Transfer-Encoding: chunked\r\n\r\n{len(inside):x}\r\n{inside}\r\n0\r\n\r\n",
            f"GET {_OTTER} HTTP/1.1\r\nAccept: */*\r\n{inside}",
        )
    ).encode("latin-1")


async def _with_links(both: BothPaths) -> None:
    for wish in _LINKS:
        await both.service.make(**wish)
    await both.service.change("ended", disabled=True)
    for target in {*_TARGETS}:
        await both.ask(both.hot, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


async def odd_requests(folder: Path, dice: Random, count: int) -> None:
    """Whatever is sent, a server says the same bytes with its hot paths as without them, and never that it failed."""
    async with both_paths(folder, _SETTINGS) as both:
        await _with_links(both)
        both.taken = 0
        for number in range(count):
            request = odd_request(dice) + (odd_request(dice) if dice.random() < 0.05 else b"")
            hot, plain = await both.ask(both.hot, request), await both.ask(both.plain, request)
            assert hot == plain, f"request {number}: {request!r}"
            assert b"HTTP/1.1 5" not in hot, f"request {number}: {request!r}: {hot!r}"
        assert both.taken > count // 20, "hardly any of these requests took a hot path, so that little was compared"


async def split_requests(folder: Path, dice: Random, count: int) -> None:
    """Wherever a request is cut in two, it is answered as if it had come in one piece, and without the hot paths."""
    async with both_paths(folder, _SETTINGS) as both:
        await _with_links(both)
        for _ in range(count):
            request = plain_request(dice)
            whole = await both.ask(both.plain, request)
            for at in range(len(request)):
                said = await both.ask(both.hot, *filter(None, (request[:at], request[at:])))
                assert said == whole, f"{request!r}, cut at {at}"
