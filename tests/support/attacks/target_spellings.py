"""Targets in all spellings: what is accepted leads a browser to a public host, and to the one that was typed.

How a browser reads an address is asked of Node, whose URL is the browsers' own and knows nothing of ours.
"""

import ipaddress
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from support.link_service import Service, link_service

_OWN = ("go.example.org", "short.example")
_SETTINGS = {"public_url": f"https://{_OWN[0]}", "links.hosts": _OWN[1]}
_NETWORKS = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10", "0.0.0.0/8"),
    *("198.18.0.0/15", "192.0.2.0/24", "240.0.0.0/4", "8.8.8.0/24", "9.9.0.0/16"),
)
_LOCAL = ("localhost", "a.localhost", "printer.local", "db.internal", "router.lan", "nas.home.arpa", "intranet")
_NAMES = (
    *_LOCAL,
    *_OWN,
    *_OWN,
    "example.org",
    "a-b.example.com",
    "bücher.example",
    "faß.example",
    "xn--bcher-kva.example",
    "www.go.example.org",
)
_DOTS = (".", ".", ".", ".", "。", "．", "｡")  # noqa: RUF001 - browsers read them all as dots
_INVISIBLE = ("\N{SOFT HYPHEN}", "\N{ZERO WIDTH JOINER}", "\N{ZERO WIDTH SPACE}", "\t", "\n", "\0", "%00", " ")
_JUDGE = """
const read = (text) => { try { const url = new URL(text);
  return [url.protocol, url.hostname, url.username + url.password] } catch { return null } };
process.stdout.write(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map(read)));
"""


def _address(dice: Random) -> str:
    network = ipaddress.IPv4Network(dice.choice(_NETWORKS))
    raw = (int(network[0]) + dice.randrange(network.num_addresses)).to_bytes(4)
    count = dice.randint(1, 4)
    parts = [*raw[: count - 1], int.from_bytes(raw[count - 1 :])]
    return ".".join(dice.choice(("{:d}", "{:d}", "0{:o}", "{:#x}", "0X{:X}", "0x0{:x}")).format(part) for part in parts)


def _address_6(dice: Random) -> str:
    inside = ipaddress.IPv4Address(int(ipaddress.IPv4Network(dice.choice(_NETWORKS))[0]) + dice.randrange(200))
    high, low = f"{int(inside) >> 16:x}", f"{int(inside) & 0xFFFF:x}"
    forms = (
        *("::1", "::", "0:0:0:0:0:0:0:1", "fd12:3456::1", "fe80::1", "febf::1", "2001:db8::1", "2606:4700::1111"),
        *(f"::ffff:{inside}", f"::ffff:{high}:{low}", f"::{inside}", f"64:ff9b::{inside}", f"2002:{high}:{low}::1"),
        *("fe80::1%25eth0", "::1%", f"::FFFF:{inside}", "::ffff:0x7f.1", f"0000::ffff:{high}:{low}"),
    )
    return f"[{dice.choice(forms)}]"


def _letter(dice: Random, letter: str) -> str:
    wide = chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter
    bold = chr(0x1D400 + ord(letter.lower()) - ord("a") + 26) if letter.isascii() and letter.isalpha() else letter
    escaped = f"%{ord(letter):02x}" if letter.isascii() else letter
    return dice.choice((letter.upper(), letter, wide, bold, escaped, letter + dice.choice(_INVISIBLE)))


def odd_host(dice: Random) -> str:
    host = dice.choice((_address, _address, _address_6, lambda dice: dice.choice(_NAMES)))(dice)
    if not host.startswith("["):
        host = "".join(dice.choice(_DOTS) if letter == "." else letter for letter in host)
        host += dice.choice(("", "", "", ".", "..", "。"))
    often = dice.choice((0.0, 0.0, 0.1, 0.5))
    return "".join(_letter(dice, letter) if dice.random() < often else letter for letter in host)


def odd_target(dice: Random) -> str:
    """Most parts are right, most of the time: what is odd all over is refused for something that is not the host."""

    def mostly(usual: str, *odd: str) -> str:
        return dice.choice(odd) if dice.random() < 0.12 else usual

    scheme = mostly(
        dice.choice(("http:", "https:", "HTTP:")), "javascript:", "https", "ht\ttp:", " https:", "\0http:", ""
    )
    slashes = mostly("//", "/", "///", "\\\\", "/\\", "", "//\t", "//https://")
    user = mostly(
        "", "user@", "user:secret@", "example.org@", "example.org%40", "@", ":@", "example.org\\@", "example.org#@"
    )
    port = mostly("", ":80", ":0080", ":", ":99999", ":8o", ":80:80", ": 80")
    path = mostly(
        dice.choice(("", "/", "/a?b#c")), "\\a", "?a", "#a", "/\r\nX: y", "/..", "/%0d%0a", "@example.org/", "/é"
    )
    return scheme + slashes + user + odd_host(dice) + port + path


def read_as_browsers_do(targets: Sequence[str]) -> list[Any]:
    """For each protocol, host, and user with password; nothing where it is no address."""
    done = subprocess.run(
        ["node", "-e", _JUDGE], input=json.dumps(targets), capture_output=True, text=True, timeout=60, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def _leads_inside(host: str) -> bool:
    """By Python's own lists of addresses, and the names that every network uses for itself."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        name = host.rstrip(".")
        return "." not in name or name.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))
    if isinstance(address, ipaddress.IPv6Address):
        if address in ipaddress.IPv6Network("64:ff9b::/96") or int(address) >> 32 == 0:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        else:
            address = address.ipv4_mapped or address.sixtofour or address
    return not address.is_global


def _destination(host: str) -> str:
    """The same for spellings that browsers keep apart, though they lead to one machine."""
    mapped = host.startswith("[") and ipaddress.IPv6Address(host.strip("[]")).ipv4_mapped
    return str(mapped) if mapped else host.rstrip(".")


async def _kept(links: Service, targets: Sequence[str]) -> list[str | None]:
    """What each becomes, made among many; nothing for those that are refused."""
    answer = await links.send_lines(*({"target": target} for target in targets))
    lines = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    assert len(lines) == len(targets)
    refused = {line["error"]["slug"] for line in lines if "error" in line}
    assert refused <= {"target-refused"}, refused
    return [line.get("target") for line in lines]


async def target_spellings(folder: Path, dice: Random, count: int) -> None:
    """However a host is spelt, a target that is accepted is public, not ours, and where a browser would have gone."""
    async with link_service(folder, _SETTINGS) as links:
        typed = [odd_target(dice) for _ in range(count)]
        kept = await _kept(links, typed)
        pairs = [(one, other) for one, other in zip(typed, kept, strict=True) if other is not None]
        assert len(pairs) > count // 20, "hardly any of these targets was accepted, so that little was tried"
        meant = read_as_browsers_do([one for one, _ in pairs])
        for (one, other), asked, told in zip(
            pairs, meant, read_as_browsers_do([other for _, other in pairs]), strict=True
        ):
            protocol, host, user = told
            assert protocol in {"http:", "https:"}, (one, other)
            assert not user, (one, other)
            assert not _leads_inside(host), (one, other, host)
            assert _destination(host) not in _OWN, (one, other, host)
            assert (asked[0], _destination(asked[1])) == (protocol, _destination(host)), (one, other)
        for target, now in dice.sample(list(zip(typed, kept, strict=True)), 30):
            made = await links.create(target)
            assert (made.json()["target"] if made.status_code < 300 else None) == now, target
        mine = await links.make(phrase="moving-otter")
        for target, now in dice.sample(list(zip(typed, kept, strict=True)), 30):
            moved = await links.change(mine["phrase"], target=target)
            assert (moved.json()["target"] if moved.status_code < 300 else None) == now, target
