"""Whose link it is: others learn not even that it is there."""

from waypost.access.keys import Scope
from waypost.sharing.links.link import Link, UnknownLink
from waypost.sharing.links.rights import Rights
from waypost.sharing.phrases.matching import is_phrase
from waypost.web.http.guard import Asker
from waypost.web.links.parts import LinkParts


async def find_link(parts: LinkParts, asker: Asker, phrase: str, scope: Scope) -> Link:
    """The link with this phrase, for whoever may do with it what they want to.

    Raises LoopbackOnly or ScopeMissing for who may not with any link, and UnknownLink alike for a link that is not
    there and for one that is somebody else's.
    """
    if asker.edit_token is None:
        asker.needs(scope)
    link = await parts.links.find(phrase) if is_phrase(phrase) else None
    rights = Rights(asker.caller, parts.edit_tokens, asker.edit_token)
    is_allowed = rights.may_edit if scope == "links:write" else rights.may_read
    if link is None or link.deleted or not is_allowed(link):
        raise UnknownLink(f"no link of yours has the phrase {phrase[:80]!r}")
    return link
