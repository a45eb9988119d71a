"""Host names as browsers read them: one spelling for each, even for addresses written to look like others."""

import ipaddress
import re
import unicodedata
from collections.abc import Container

import idna

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
# All addresses that were ever given out for the Internet; and those in it that are for documentation.
_INTERNET, _EXAMPLES = ipaddress.IPv6Network("2000::/3"), ipaddress.IPv6Network("3fff::/20")


class BadHost(ValueError):
    """No browser would find this host, or not all browsers would find the same one."""


def read_host(text: str) -> str | Address:
    """Returns a name in lower case and ASCII without a final dot, or the address that browsers take it for."""
    if text.startswith("["):
        return _read_ipv6(text)
    name = text.lower() if text.isascii() else _to_ascii(text)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _read_ipv4(labels)
    if len(name) > _LONGEST or not all(_LABEL.fullmatch(label) and _is_honest(label) for label in labels):
        raise BadHost("is not the name of a host")
    return name


def is_public(host: str | Address) -> bool:
    """Whether it may be reached from everywhere, as far as its name tells: no name is looked up."""
    if isinstance(host, str):
        return "." in host and not host.endswith(_LOCAL_ENDS)
    return _is_public_address(host)


def is_below(host: str, name: str) -> bool:
    """Whether `host` is `name`, or lies inside its domain."""
    return host == name or host.endswith(f".{name}")


def is_among(host: str, names: Container[str]) -> bool:
    """Whether `host` is one of the names, or lies inside the domain of one: as quick for ten thousand as for one."""
    labels = host.split(".")
    return any(".".join(labels[start:]) in names for start in range(len(labels)))


_LOCAL_ENDS = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa")


def _to_ascii(text: str) -> str:
    try:
        return idna.encode(text, uts46=True, transitional=False).decode()
    except idna.IDNAError:
        raise BadHost("is not the name of a host; if it is, write its form that begins with xn--") from None


def _is_honest(label: str) -> bool:
    """Whether an encoded label needs its encoding: some browsers would read xn--localhost- as localhost."""
    if not label.startswith("xn--"):
        return True
    try:
        decoded = label[4:].encode().decode("punycode")
    except UnicodeError:
        return False
    return not decoded.isascii() and unicodedata.normalize("NFKC", decoded) == decoded


def _read_ipv4(labels: list[str]) -> ipaddress.IPv4Address:
    """Reads up to four numbers, each decimal, octal or hexadecimal; the last fills all remaining bytes."""
    numbers = [_read_number(label) for label in labels]
    *first, last = numbers
    if len(numbers) > 4 or any(number > 255 for number in first) or last >= 256 ** (5 - len(numbers)):  # noqa: PLR2004 - bytes
        raise BadHost("is not an address")
    value = last + sum(number << (24 - 8 * place) for place, number in enumerate(first))
    return ipaddress.IPv4Address(value)


def _read_number(label: str) -> int:
    if not _NUMBER.fullmatch(label) or len(label) > _LONGEST:
        raise BadHost("is not an address")
    try:
        if label.startswith("0x"):
            return int(label[2:] or "0", 16)
        return int(label, 8 if label.startswith("0") else 10)
    except ValueError:
        raise BadHost("is not an address") from None


def _read_ipv6(text: str) -> Address:
    try:
        address = ipaddress.IPv6Address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        raise BadHost("is not an address") from None
    # A zone names a network interface of the reader's own machine.
    if not text.endswith("]") or address.scope_id:
        raise BadHost("is not an address")
    return address.ipv4_mapped or address


def _is_public_address(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address in _EXAMPLES or not (address in _INTERNET or address in _TRANSLATED):
            return False
        if inside := _ipv4_inside(address):
            return _is_public_address(inside)
    return address.is_global and not address.is_multicast


def _ipv4_inside(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets reach when a gateway translates, or None."""
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
