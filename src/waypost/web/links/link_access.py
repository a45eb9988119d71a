"""Who may use a link: other callers do not even learn that it exists. And what is for administrators alone."""

from fastapi import Request

from waypost.access.keys import Scope
from waypost.sharing.links.link import Link, UnknownLink
from waypost.sharing.links.rights import Rights
from waypost.sharing.phrases.matching import is_phrase
from waypost.web.http.authentication import Asker, WriteGuard
from waypost.web.links.route_dependencies import LinkParts


async def admit_admin(guard: WriteGuard, request: Request) -> Asker:
    """Raises LoopbackOnly or ScopeMissing unless the caller is an administrator."""
    asker = await guard(request)
    asker.needs("admin")
    return asker


async def find_link(parts: LinkParts, asker: Asker, phrase: str, scope: Scope, *, deleted_too: bool = False) -> Link:
    """The link with this phrase, if the caller may use it as `scope` says.

    Raises LoopbackOnly or ScopeMissing for a caller who may use no link that way, and UnknownLink both for a link that
    does not exist and for another owner's.
    """
    if asker.edit_token is None:
        asker.needs(scope)
    link = await parts.links.find(phrase) if is_phrase(phrase) else None
    rights = Rights(asker.caller, parts.edit_tokens, asker.edit_token)
    is_allowed = rights.may_edit if scope == "links:write" else rights.may_read
    if link is None or (link.deleted and not deleted_too) or not is_allowed(link):
        raise UnknownLink(f"no link of yours has the phrase {phrase[:80]!r}")
    return link
