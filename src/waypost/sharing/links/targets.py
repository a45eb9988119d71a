"""Where a link may lead. Targets that browsers would read differently from us are refused too."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Self
from urllib.parse import SplitResult, quote, urlsplit

from waypost.kernel.errors import AskedWrongly
from waypost.sharing.links.hosts import Address, BadHost, is_among, is_below, is_public, read_host
from waypost.sharing.links.name_lookup import NameLookup
from waypost.sharing.links.settings import SharingSettings
from waypost.sharing.links.terms import LONGEST_TARGET

# The path of places' own pages. Such a target has no host, so it leads to this site under whatever name it is reached.
PLACES = "/collections/places/items"
_WEB = ("http", "https")
# Schemes where browsers find a host even when the slashes before it are left out.
_WITH_HOST = (*_WEB, "ftp", "ws", "wss")
# A server that listens on these is reached at every address of its machine; a client that connects to them reaches
# its own machine.
_EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - nobody is made to listen there
_LOCALHOST = "localhost"
_LOOPBACK = frozenset({_LOCALHOST, "127.0.0.1", "::1"}) | _EVERYWHERE


class TargetRefused(AskedWrongly):
    """A link may not lead there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, parameter="target")


def place_page(place_id: str) -> str:
    """The page of a place: the only target on our own site, and the only one without a host."""
    return f"{PLACES}/{quote(place_id, safe='')}"


def is_own_page(target: str) -> bool:
    return target.startswith("/")


def is_blocked(target: str, hosts: Container[str]) -> bool:
    """Whether a target that was once allowed leads to one of these hosts, or to one inside their domains."""
    try:
        name = str(_read_host(_split(target)))
    except TargetRefused:
        return False
    return is_among(name, hosts)


@dataclass(frozen=True)
class TargetRules:
    """`own` has our host names and addresses, spelt as `read_host` spells them; `blocked` is spelt the same way."""

    schemes: frozenset[str] = frozenset(_WEB)
    allow_private: bool = False
    own: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    # Whether all addresses of this machine are ours.
    is_everywhere: bool = False
    # Looks up where names lead; None leaves them alone.
    names: NameLookup | None = None

    @classmethod
    def of(cls, settings: SharingSettings, own: Iterable[str], names: NameLookup | None = None) -> Self:
        """`own` has the hosts by which we are reached, beside those in the settings: the public address's, and the
        one we listen on. Anything that is not the name of a host is left out.
        """
        hosts = {name for text in (*own, *settings.hosts) if (name := _spelt(text))}
        is_everywhere = bool(hosts & _EVERYWHERE)
        if hosts & _LOOPBACK:
            hosts |= _LOOPBACK
        schemes = frozenset((*_WEB, *settings.schemes))
        return cls(schemes, settings.allow_private, frozenset(hosts), settings.blocked_hosts, is_everywhere, names)

    def check(self, text: str) -> str:
        """Returns the target as it will be kept. Raises TargetRefused with the reason."""
        target = text.strip(" ")
        _refuse_letters(target)
        parts = _split(target)
        if parts.scheme not in self.schemes:
            # A javascript: or data: target would run in the visitor's browser under our name.
            raise TargetRefused(f"a target starts with {' or '.join(_starts(self.schemes))}")
        if parts.scheme not in _WITH_HOST and not parts.netloc:
            return _bounded(quote(target, safe=_KEPT))
        host = _read_host(parts)
        self._refuse_host(host)
        return _bounded(target if target.isascii() else _to_ascii(parts, host))

    async def look_up(self, target: str) -> None:
        """Raises TargetRefused if the name in a checked target leads to a private address, or nowhere."""
        parts = _split(target)
        if self.names is None or self.allow_private or not parts.netloc:
            return
        host = _read_host(parts)
        if not isinstance(host, str):
            return
        found = await self.names.addresses(host)
        if not found:
            raise TargetRefused(f"there is no host {host}: nobody would find it")
        if not all(is_public(address) for address in found):
            raise TargetRefused(
                f"{host} leads to a private network, where others would find something else, or nothing"
            )

    def _refuse_host(self, host: str | Address) -> None:
        name = str(host)
        is_here = _LOCALHOST in self.own and is_below(name, _LOCALHOST)
        if name in self.own or is_here or (self.is_everywhere and isinstance(host, IPv4Address) and host.is_loopback):
            raise TargetRefused("the target is this site itself: the link would lead to a link; use where that leads")
        if is_among(name, self.blocked):
            raise TargetRefused(f"links may not lead to {name}: it is blocked here")
        if not self.allow_private and not is_public(host):
            raise TargetRefused(
                f"{name} is on a private network, where others would find something else, or nothing;"
                " links.allow_private allows it"
            )


# Characters that may stand in an address unencoded, and the percent sign of those already encoded.
_KEPT = "%/:?#[]@!$&'()*+,;=-._~"


def _refuse_letters(target: str) -> None:
    if len(target) > LONGEST_TARGET:
        raise TargetRefused(f"the target is longer than {LONGEST_TARGET} characters")
    if not target.isprintable() or any(letter.isspace() for letter in target):
        raise TargetRefused("the target has spaces or control characters in it; percent-encode them")
    if "\\" in target:
        # Browsers take it for a slash, and so find a different host than other programs do.
        raise TargetRefused("the target has a backslash in it; write / or percent-encode it as %5C")


def _split(target: str) -> SplitResult:
    try:
        parts = urlsplit(target)
        is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise TargetRefused("the target is not a web address; write it like https://example.org/page") from None
    if not is_valid:
        raise TargetRefused("the target has the port 0, where nobody answers")
    return parts


def _read_host(parts: SplitResult) -> str | Address:
    if "@" in parts.netloc:
        raise TargetRefused("the target has a user name or password in it, which everybody would see")
    if not parts.hostname:
        raise TargetRefused("the target names no host; write it like https://example.org/page")
    # Without the port, and not as Python spells it: a bracket marks an IPv6 address.
    text = parts.netloc if parts.netloc.endswith("]") else parts.netloc.rpartition(":")[0] or parts.netloc
    try:
        return read_host(text)
    except BadHost as error:
        raise TargetRefused(f"{text[:80]!r} {error}") from None


def _to_ascii(parts: SplitResult, host: str | Address) -> str:
    """Returns the target as a header can carry it: non-ASCII letters percent-encoded, the host's as in IDNA."""
    # An address in non-ASCII digits becomes one that every browser reads alike.
    name = f"[{host}]" if ":" in str(host) else str(host)
    netloc = name if parts.port is None else f"{name}:{parts.port}"
    return quote(parts._replace(netloc=netloc).geturl(), safe=_KEPT)


def _bounded(target: str) -> str:
    if len(target) > LONGEST_TARGET:
        raise TargetRefused(
            f"the target is longer than {LONGEST_TARGET} characters once its letters are percent-encoded"
        )
    return target


def _spelt(text: str) -> str | None:
    try:
        return str(read_host(f"[{text}]" if ":" in text else text))
    except BadHost:
        return None


def _starts(schemes: Iterable[str]) -> list[str]:
    return [f"{scheme}://" if scheme in _WITH_HOST else f"{scheme}:" for scheme in sorted(schemes)]
