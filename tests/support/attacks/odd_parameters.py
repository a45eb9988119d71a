"""Parameters that make no sense, in every route that the API describes: refused by their name, or harmless."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from support.attacks.both_paths import BothPaths, both_paths

_ODD = (
    *(
        "",
        " ",
        "0",
        "-1",
        "1e400",
        "-0",
        "NaN",
        "inf",
        "1_000",
        "0x10",
        "١٢",
        "9" * 40,
        "1.5",
        "+1",
        "true",
        "null",
        "[]",
    ),
    *("'", '"', "' or 1=1 --", "%", "_", "\\", "*", "?", "#", "&", ";", "..", "../../etc/passwd", "a\0b", "\r\nX: y"),
    *(
        "\N{OTTER}",
        "\N{COMBINING ACUTE ACCENT}",
        "\N{RIGHT-TO-LEFT OVERRIDE}x",
        "\N{FULLWIDTH DIGIT ONE}",
        "ß",
        "é" * 99,
    ),
    *(
        "<script>alert(1)</script>",
        "${7*7}",
        "{{7*7}}",
        "x" * 500,
        "x" * 1000,
        ",",
        ",,,,",
        "1,2",
        "1,2,3,4,5",
        "a,b,c,d",
    ),
    *("NaN,NaN,NaN,NaN", "200,100,-200,-100", "1e308,1e308,1e308,1e308", "0,0,0,0", "180,-90,-180,90", "5,5"),
    *(
        "2026-02-30",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2026-01-01T00:00:00",
        "2026-01-01/..",
        "../..",
        "/",
    ),
    *("UTC", "Europe/Berlin", "../../etc/localtime", "Asia/Kolkata", "posixrules", "Factory", "en", "animals", "kebab"),
)
_BROKEN = ("%", "%g1", "%ff", "%c3", "%ED%A0%80", "%00", "a=b", "+", "%2B", "%25")


def _operations(description: Any) -> Sequence[tuple[str, Sequence[str]]]:
    """Each path that can be read, with its values filled in, and the parameters that it takes."""
    found = []
    for path, methods in description["paths"].items():
        if "get" in methods and path not in _OF_THE_MOMENT:
            taken = [each["name"] for each in methods["get"].get("parameters", ()) if each["in"] == "query"]
            found.append((path, taken))
    return found


# What they answer changes from one moment to the next, and they take no parameters.
_OF_THE_MOMENT = {"/metrics", "/health", "/healthz", "/readyz", "/-/status"}
_INSIDE = {"phrase": "gently-golden-otter", "place": "sim:1", "z": "1", "x": "0", "y": "1", "language": "en"}


def _inside(dice: Random, path: str) -> str:
    for name in [part.partition("}")[0] for part in path.split("{")[1:]]:
        usual = _INSIDE.get(name, "x")
        odd = quote(dice.choice(_ODD), safe="") if dice.random() < 0.5 else dice.choice(_BROKEN)
        path = path.replace(f"{{{name}}}", odd if dice.random() < 0.2 else usual)
    return path


def _pair(dice: Random, taken: Sequence[str]) -> str:
    name = dice.choice(taken) if taken and dice.random() < 0.85 else dice.choice(("", "x", "limt", "LIMIT", "a[]", "%"))
    if dice.random() < 0.1:
        name = "".join(f"%{ord(letter):02x}" for letter in name if letter.isascii())
    value = dice.choice(_BROKEN) if dice.random() < 0.15 else quote_plus(dice.choice(_ODD))
    return dice.choice((f"{name}={value}",) * 9 + (name, f"{name}=", f"={value}"))


def odd_address(dice: Random, operations: Sequence[tuple[str, Sequence[str]]]) -> str:
    path, taken = dice.choice(operations)
    pairs = [_pair(dice, taken) for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3)))]
    if pairs and dice.random() < 0.1:
        pairs.append(pairs[0])
    query = dice.choice(("&",) * 8 + (";", "&&")).join(pairs)
    return _inside(dice, path) + (f"?{query}" if query else "")


def check_answer(answer: bytes, asked: str) -> tuple[int, bytes]:
    """Whatever was asked, an answer tells its type and is no defect; a refusal says what was wrong, and with what."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status, lower = int(head[9:12]), head.lower()
    body = _joined(body) if b"transfer-encoding: chunked" in lower else body
    assert status < 500, (asked, answer[:500])
    assert lower.count(b"\r\nx-content-type-options: nosniff") == 1, (asked, head)
    if status >= 400 and b"application/problem+json" in lower:
        problem = msgspec.json.decode(body)
        assert problem["status"] == status, (asked, problem)
        assert problem["detail"], (asked, problem)
        assert problem["type"].startswith("urn:waypost:"), (asked, problem)
        assert problem["type"] != "urn:waypost:bad-parameter" or "parameter" in problem, (asked, problem)
    elif status >= 400:
        assert b"content-type: text/html" in lower or not body, (asked, head)
    return status, body


def _joined(chunks: bytes) -> bytes:
    size, _, rest = chunks.partition(b"\r\n")
    length = int(size, 16)
    return rest[:length] + _joined(rest[length + 2 :]) if length else b""


async def _described(both: BothPaths) -> Any:
    answer = await both.answer(both.plain, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])


async def odd_parameters(folder: Path, dice: Random, count: int) -> None:
    """Whatever the parameters, both paths say the same, which is an answer or says what is wrong."""
    async with both_paths(folder, {"public_url": "https://go.example.org"}) as both:
        await both.service.make(phrase="gently-golden-otter")
        operations = _operations(await _described(both))
        assert len(operations) > 20, operations
        for _ in range(count):
            address = odd_address(dice, operations)
            request = f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            hot = await both.answer(both.hot, request)
            check_answer(hot, address)
            # Those of links tell the time, and none of them has a hot path.
            assert address.startswith("/v1/links") or hot == await both.answer(both.plain, request), address
