"""Bodies that are no wish for a link, or hardly one: whatever is not understood leaves nothing behind."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

from support.attacks.both_paths import BothPaths, both_paths
from support.attacks.odd_parameters import check_answer

_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.5, 1e300, 10**30, "", " ", "x", "\0", "\ud800", "x" * 3000, [], {}, [[]], [None], {"a": 1}),
    *(
        "https://example.org/",
        "javascript:alert(1)",
        "http://localhost/",
        ["a", 1],
        "kebab",
        "en",
        "2027-01-01T00:00:00Z",
    ),
)
_FIELDS = (
    *(
        "target",
        "phrase",
        "title",
        "tags",
        "expires_at",
        "max_visits",
        "password",
        "forward_query",
        "language",
        "theme",
    ),
    *("format", "place_id", "owner", "id", "visits", "disabled", "reuse", "", "__proto__", "target\0", "TARGET"),
)
# Every one of these breaks what was JSON before.
_BREAKS = (
    lambda body, dice: body[: dice.randrange(len(body))],
    lambda body, dice: body[: -dice.randint(1, 3)] + b"\xff\xfe",
    lambda body, dice: b"[" * dice.choice((1, 100, 20_000)) + body,
    lambda body, _: b"\xef\xbb\xbf" + body,
    lambda body, _: body.replace(b'"', b"'"),
    lambda body, _: body.replace(b"}", b",}"),
    lambda body, _: body.decode().encode("utf-16"),
    lambda body, _: gzip.compress(body),
    lambda body, _: b"// a comment\n" + body,
    lambda body, _: body.replace(b":", b": NaN, ", 1),
    lambda body, _: b"target=https%3A%2F%2Fexample.org%2F",
    lambda body, _: body.replace(b"example", b"ex\xe9mple"),
    lambda body, _: b"\0" + body,
    lambda body, _: b"",
)
_DOORS = (
    *[("POST", "/v1/links")] * 3,
    ("PATCH", "/v1/links/often-mended-otter"),
    ("POST", "/v1/links/bulk"),
    ("POST", "/v1/places/sim:1/link"),
    ("POST", "/gently-golden-otter"),
    ("POST", "/-/report"),
)
_ENCODINGS = ("", "", "", "gzip", "deflate", "br", "identity, gzip", "zstd")


def _wish(dice: Random) -> dict[str, Any]:
    fields = {name: dice.choice(_VALUES) for name in dice.sample(_FIELDS, dice.choice((0, 0, 1, 1, 2, 4)))}
    return fields if dice.random() < 0.3 else {"target": f"https://example.org/{dice.random()}", **fields}


def odd_body(dice: Random) -> tuple[bytes, bool]:
    """The body, and whether it is still a JSON object."""
    body = json.dumps(_wish(dice)).encode()
    if dice.random() < 0.4:
        return body, True
    broken = dice.choice(_BREAKS)(body, dice)
    try:
        return broken, isinstance(json.loads(broken.decode(), parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return broken, False


def _refuse(name: str) -> None:
    raise ValueError(name)


def _request(dice: Random, method: str, path: str, body: bytes) -> bytes:
    kinds = {"/v1/links/bulk": "application/x-ndjson", "/gently-golden-otter": _FORM, "/-/report": _FORM}
    kind = kinds.get(path, "application/json")
    if dice.random() < 0.15:
        kind = dice.choice(("text/plain", "application/json; charset=utf-16", "multipart/form-data", "", "a" * 99))
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Type: {kind}"]
    if encoding := dice.choice(_ENCODINGS):
        lines.append(f"Content-Encoding: {encoding}")
    if dice.random() < 0.3:
        head = "\r\n".join([*lines, "Transfer-Encoding: chunked", "", ""]).encode()
        cut = dice.randrange(len(body) + 1)
        return (
            head
            + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part)
            + b"0\r\n\r\n"
        )
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


_FORM = "application/x-www-form-urlencoded"


async def odd_bodies(folder: Path, dice: Random, count: int) -> None:
    """No body is a defect, what is no JSON makes nothing, and there are as many links as answers said."""
    async with both_paths(folder) as both:
        # The one that is changed may get a password, and wrong ones have to wait.
        made = {(await both.service.make(phrase=each))["id"] for each in ("gently-golden-otter", "often-mended-otter")}
        for _ in range(count):
            (method, path), (body, is_json) = dice.choice(_DOORS), odd_body(dice)
            answer = await both.answer(both.hot, _request(dice, method, path, body))
            status, said = check_answer(answer, f"{method} {path} {body[:200]!r}")
            if path == "/v1/links" and status in {200, 201}:
                assert is_json, body
                made.add(json.loads(said)["id"])
            elif path.endswith(("/bulk", "/link")) and status in {200, 201}:
                made |= {each["id"] for each in _told(said) if "id" in each}
        assert await _ids(both) == made


def _told(said: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines() if line]


async def _ids(both: BothPaths) -> set[str]:
    listed = await both.service.ask("GET", "/v1/links", params={"limit": "1000"})
    return {each["id"] for each in listed.json()["links"]}
