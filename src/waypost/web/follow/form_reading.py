"""Forms that our pages send back: small, only from our own pages, and never in an address."""

from urllib.parse import parse_qsl, urlsplit

from fastapi import Request

from waypost.kernel.errors import Forbidden
from waypost.web.follow.route_dependencies import FollowParts
from waypost.web.http.authentication import check_content_type

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 10


class CrossSiteForm(Forbidden):
    """Another web page sent this form."""


async def read_form(request: Request, parts: FollowParts) -> dict[str, str]:
    """Returns the form's fields. Another site's page cannot send the form in a visitor's name."""
    check_content_type(request, _FORM)
    if not _is_ours(request, parts):
        raise CrossSiteForm("another web page sent this form; open the link itself and use the form there")
    try:
        body = (await request.body()).decode()
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}


def _is_ours(request: Request, parts: FollowParts) -> bool:
    """Browsers say where a form comes from. The scheme is left out: a proxy may speak TLS for us."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    return origin is None or _host(origin) in {request.headers.get("host", ""), _host(parts.public_url)} - {""}


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
