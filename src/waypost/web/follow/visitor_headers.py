"""What the headers of a request tell about the visitor who follows a link."""

from typing import NamedTuple

from waypost.sharing.visits.visitors import ShownByBrowser, read_headers
from waypost.web.http.encoded_headers import Header
from waypost.web.http.proxies import by_name


class VisitorHeaders(NamedTuple):
    """The headers of a request, and what they show about its sender."""

    headers: dict[bytes, bytes]
    shown: ShownByBrowser


def read_visitor(headers: list[Header]) -> VisitorHeaders:
    found = by_name(headers)
    return VisitorHeaders(found, read_headers(found))
