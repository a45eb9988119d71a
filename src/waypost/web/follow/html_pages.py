"""Pages for people who follow links: without a script, with nothing from elsewhere, and never cached."""

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import quote, urlsplit

import idna
from starlette.responses import Response

from waypost.sharing.links.document import path_of
from waypost.sharing.links.link import Link
from waypost.sharing.links.targets import is_own_page
from waypost.sharing.reports.report import LONGEST_REPORT
from waypost.web.http.page_frame import framed

_CSP = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action {}"
LONGEST_PASSWORD = 200


def page(status: int, title: str, body: str, *, form_action: str = "'self'") -> Response:
    """`body` is HTML already; `title` is text."""
    headers = {
        "Content-Security-Policy": _CSP.format(form_action),
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "X-Robots-Tag": "noindex",
    }
    return Response(framed(title, body), status_code=status, media_type="text/html", headers=headers)


def described(pages: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """For the API's description: which statuses come with a page, and why. Some come as a problem, too."""
    content = {
        "text/html": {"schema": {"type": "string"}},
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}},
    }
    return {status: {"description": why, "content": dict(content)} for status, why in pages.items()}


def message(status: int, title: str, text: str) -> Response:
    return page(status, title, f"<p>{escape(text)}</p>")


def unknown() -> Response:
    return message(404, "No such link", "Check the words: a link looks like gently-golden-otter.")


def ended() -> Response:
    return message(410, "This link has ended", "Ask whoever gave it to you for a new one.")


def used_up() -> Response:
    return message(410, "This link is used up", "It had a limited number of visits. Ask for a new one.")


def away() -> Response:
    answer = message(503, "Not right now", "The link cannot be looked up at the moment. Try again in a few seconds.")
    answer.headers["Retry-After"] = "5"
    return answer


def too_many(retry_in: float) -> Response:
    answer = message(429, "Too many are trying", "Wait a few seconds, and try again.")
    answer.headers["Retry-After"] = f"{retry_in:.0f}"
    return answer


def limited(link: Link) -> Response:
    """For requests that do not count as visits: whatever this shows, anyone could see any number of times."""
    follow = f'<p><a href="{_path(link)}" rel="nofollow">Follow it</a></p>'
    return page(200, "A link with limited visits", f"<p>You see where it leads when you follow it.</p>{follow}")


def password_form(link: Link, *, status: int = 200, wrong: str = "") -> Response:
    """Browsers also check where a form's answer leads, so the target's scheme is allowed, and nothing more."""
    alert = f'<p role="alert">{escape(wrong)}</p>' if wrong else ""
    form = (
        f'<form method="post" action="{_path(link)}"><label for="password">Password</label>'
        f'<input type="password" id="password" name="password" maxlength="{LONGEST_PASSWORD}"'
        ' autocomplete="off" required autofocus><button>Follow the link</button></form>'
    )
    own = set() if is_own_page(link.target) else {f"{urlsplit(link.target).scheme}:"}
    schemes = sorted({"http:", "https:"} | own)
    return page(
        status,
        "This link has a password",
        f"<p>The person who gave you the link can tell you.</p>{alert}{form}{_report(link)}",
        form_action=" ".join(("'self'", *schemes)),
    )


def preview(link: Link) -> Response:
    rows = "".join(f"<dt>{escape(name)}</dt><dd><bdi>{escape(value)}</bdi></dd>" for name, value in _facts(link))
    follow = f'<p><a href="{_path(link)}" rel="nofollow">Follow it</a></p>'
    return page(200, "Where this link leads", f"<dl>{rows}</dl>{follow}{_report(link)}")


def report_form(phrase: str) -> Response:
    form = (
        '<form method="post" action="/-/report"><label for="phrase">The words of the link</label>'
        f'<input id="phrase" name="phrase" maxlength="200" value="{escape(phrase)}" required>'
        '<label for="text">What is wrong with it</label>'
        f'<textarea id="text" name="text" rows="6" maxlength="{LONGEST_REPORT}" required></textarea>'
        "<button>Report it</button></form>"
    )
    return page(200, "Report a link", f"<p>The people who run this site will see it.</p>{form}")


def _facts(link: Link) -> list[tuple[str, str]]:
    if hides_target(link):
        why = "a password" if link.password is not None else "a visit"
        return [("Leads to", f"an address that takes {why} to see")]
    target = f"{link.target} on this site" if is_own_page(link.target) else link.target
    facts = [("Leads to", target), *_hosts(link.target)]
    return [*facts, ("Its author calls it", link.title)] if link.title else facts


def hides_target(link: Link) -> bool:
    """Whether the target is shown only for the password, or for one of a limited number of visits."""
    return link.password is not None or link.max_visits is not None


def _hosts(target: str) -> list[tuple[str, str]]:
    """The host as machines spell it and, where that is unreadable, as people read it."""
    host = urlsplit(target).hostname
    if not host:
        return []
    facts = [("On the host", host)]
    if "xn--" in host:
        try:
            read = idna.decode(host)
        except (idna.IDNAError, UnicodeError):
            return facts
        facts.append(("Which reads, perhaps to deceive", read))
    return facts


def _report(link: Link) -> str:
    return f'<p><a href="/-/report?phrase={quote(link.phrase, safe="")}" rel="nofollow">Report this link</a></p>'


def _path(link: Link) -> str:
    return escape(f"/{path_of(link.phrase)}")
