"""Who follows a link, as far as the request tells."""

from typing import NamedTuple

from fastapi import Request

from waypost.sharing.visits.visitors import ShownByBrowser, read_headers
from waypost.web.http.encoded_headers import Header
from waypost.web.http.proxies import Proxies, by_name


class VisitorHeaders(NamedTuple):
    """The headers of a request, and what they show about its sender."""

    headers: dict[bytes, bytes]
    shown: ShownByBrowser


def read_asked(headers: list[Header]) -> VisitorHeaders:
    found = by_name(headers)
    return VisitorHeaders(found, read_headers(found))


def address_of(request: Request, asked: VisitorHeaders, proxies: Proxies) -> str:
    return proxies.client(request.client.host if request.client else "", asked.headers)
