"""Tricks by which another machine, or a web page in a browser here, would pass for this machine."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from support.attacks.both_paths import both_paths
from support.attacks.odd_parameters import check_answer
from waypost.sharing.links.store import Wanted

_EVIL = (
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "evil.example.",
    "xn--lcalhost-54a.example",
)
_ADDRESSES = (
    "10.0.0.1",
    "192.168.1.7",
    "169.254.169.254",
    "0.0.0.0",
    "[::]",
    "[2001:db8::1]",
    "[fe80::1]",
    "1.0.0.127",
)
_FORWARDING = (
    *(
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "X-Forwarded-Server",
    ),
    *("X-Real-IP", "Via", "CF-Connecting-IP", "True-Client-IP"),
)
_CLAIMS = (
    "127.0.0.1",
    "::1",
    "localhost",
    "for=127.0.0.1;host=localhost",
    "127.0.0.1, 203.0.113.9",
    "",
    "1.1 localhost",
)
_FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "text/json")


def _other_case(dice: Random, text: str) -> str:
    return "".join(dice.choice((letter.upper(), letter.lower())) for letter in text)


def _hosts(dice: Random, port: int) -> Sequence[str]:
    evil, own = dice.choice((*_EVIL, *_ADDRESSES)), f"localhost:{port}"
    named = dice.choice(
        (evil, f"{evil}:{port}", f"{evil}:80", f"localhost@{evil}", f"127.0.0.1:{port}@{evil}", f"@{evil}")
    )
    odd = dice.choice(([own, evil], [f"{own} {evil}"], [f"{own}/{evil}@"]))
    return dice.choice(([named], [named], [f"{evil}#{own}"], [f"[{own}]"], [""], odd))


def _origins(dice: Random, port: int) -> Sequence[str]:
    own, evil = f"http://localhost:{port}", dice.choice(_EVIL)
    if dice.random() < 0.1:
        return [own, f"http://{evil}"]
    named = dice.choice(
        (
            *("null", "", "file://", "http://localhost", "chrome-extension://abc", f"//localhost:{port}", f"{own}/"),
            *(f"http://{evil}", f"https://{evil}:{port}", f"{own}.{evil}", f"{own}@{evil}", f"http://{evil}#{own}"),
            *(f"https://localhost:{port}", f"http://localhost:{port + 1}", f"http://127.0.0.2:{port}", f"{own}, {own}"),
        )
    )
    return [named]


def _trick(dice: Random, port: int) -> tuple[str, Sequence[str]]:
    """A header, and the values that it has instead of none or of its own."""
    kind = dice.randrange(4)
    if kind == 0:
        return "Host", _hosts(dice, port)
    if kind == 1:
        return "Origin", _origins(dice, port)
    if kind == 2:
        return "Sec-Fetch-Site", [dice.choice(("cross-site", "same-site", "SAME-SITE", "x", "same-origin, cross-site"))]
    return "Content-Type", [dice.choice(_FORMS)]


def tricked_request(dice: Random, port: int, *, tricks: int, phrase: str, forwarded: bool = False) -> bytes:
    """A wish for a link, as a program on this machine sends it but for the tricks."""
    headers: dict[str, Sequence[str]] = {"Host": [f"localhost:{port}"], "Content-Type": ["application/json"]}
    headers |= dict(_trick(dice, port) for _ in range(tricks))
    if forwarded:
        headers[dice.choice(_FORWARDING)] = [dice.choice(_CLAIMS)]
    lines = [f"{_other_case(dice, name)}: {value}" for name, values in headers.items() for value in values]
    dice.shuffle(lines)
    body = f'{{"target": "https://example.org/", "phrase": "{phrase}"}}'
    return "\r\n".join(("POST /v1/links HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", body)).encode()


async def guard_tricks(folder: Path, dice: Random, count: int) -> None:
    """Nothing is written for a request with any of these tricks, alone or several at once; without one, it is.

    One request that a proxy has passed on is enough for nobody to be taken for this machine any more.
    """
    async with both_paths(folder) as both:

        async def refused(request: bytes) -> None:
            said = await both.ask(both.hot, request)
            assert said.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 415 ", b"HTTP/1.1 400 ")), (request, said)

        for number in range(count):
            tricks = dice.choice((1, 1, 2, 3))
            await refused(tricked_request(dice, both.hot, tricks=tricks, phrase=f"trick-{number}"))
            honest = tricked_request(dice, both.hot, tricks=0, phrase=f"honest-otter-{number}")
            status, _ = check_answer(await both.answer(both.hot, honest), str(honest))
            assert status == 201, honest
        for number in range(count // 4):
            tricks = dice.choice((0, 0, 1))
            await refused(tricked_request(dice, both.hot, tricks=tricks, phrase=f"proxied-{number}", forwarded=True))
        await refused(tricked_request(dice, both.hot, tricks=0, phrase="late-otter"))
        kept = await both.service.stores.links.page(Wanted(), None, 1000)
        assert {link.phrase for link in kept.links} == {f"honest-otter-{n}" for n in range(count)}
