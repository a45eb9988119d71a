"""What a request says about where it goes and which page sent it. A Host is strict and bounded, because answers repeat
it.
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence

_LONGEST_NAME = 253
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(
    rf"({_LABEL}(?:\.{_LABEL}){{0,126}}\.?|\[[0-9a-f:.]{{2,45}}\])(?::[0-9]{{1,5}})?", re.ASCII | re.IGNORECASE
)


def host_name(header: str) -> str | None:
    """The name or address in a Host header, in lower case, without port and brackets; None if it is not a host."""
    found = _HOST.fullmatch(header)
    if found is None or len(found[1]) > _LONGEST_NAME:
        return None
    name = found[1].lower()
    if not name.startswith("["):
        return name
    try:
        return str(ipaddress.IPv6Address(name[1:-1]))
    except ValueError:
        return None


def are_usable_hosts(headers: Sequence[bytes]) -> bool:
    """Whether a request may have these Host headers: at most one, which is a host or empty."""
    return len(headers) <= 1 and all(not each or host_name(each.decode("latin-1")) is not None for each in headers)


def is_foreign(headers: Mapping[str, str], scheme: str) -> bool:
    """Whether a web page of another site sent a request with these headers, each of which may be there twice."""
    origins = {value for name, value in headers.items() if name == "origin"}
    is_own = origins <= {f"{scheme}://{headers.get('host', '')}"}
    return not is_own or headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
