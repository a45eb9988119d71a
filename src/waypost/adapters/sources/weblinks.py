"""The header `Link` (RFC 8288): where the next page is."""

import re

_PARAMETER = r'\s*;\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?'
_LINK = re.compile(rf"<([^<>]*)>((?:{_PARAMETER})*)")
_ONE = re.compile(_PARAMETER)


def next_link(header: str | None) -> str | None:
    """What the first link with `rel=next` leads to; one link may have several relations, in any case."""
    for link in _LINK.finditer(header or ""):
        for name, quoted, plain in _ONE.findall(link[2]):
            if name.lower() == "rel" and "next" in (quoted or plain).lower().split():
                return link[1].strip()
    return None
