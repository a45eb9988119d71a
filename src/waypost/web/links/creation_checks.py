"""Who may make links, and what is checked before a wish reaches the author."""

import re
from dataclasses import replace

from fastapi import Request

from waypost.access.caller import ANONYMOUS
from waypost.kernel.host_header import host_name
from waypost.sharing.links.draft import Draft, MadeLink
from waypost.sharing.links.hosts import BadHost, read_host
from waypost.sharing.links.link import NewLink
from waypost.sharing.links.terms import LinkInvalid
from waypost.web.http.authentication import Asker
from waypost.web.http.parameters import BadParameter
from waypost.web.http.proxies import by_name
from waypost.web.links.route_dependencies import LinkParts

_IDEMPOTENCY_KEY = re.compile(r"[!-~]{1,200}", re.ASCII)


def may_make(parts: LinkParts, asker: Asker) -> None:
    """Raises LoopbackOnly or ScopeMissing unless the caller may make links."""
    if asker.caller != ANONYMOUS or not parts.author.settings.anonymous:
        asker.needs("links:write")


def draft_of(parts: LinkParts, request: Request, asker: Asker, wanted: NewLink) -> Draft:
    refuse_loop(parts, request, wanted.target)
    if wanted.reuse and asker.caller == ANONYMOUS:
        raise LinkInvalid("links that are made without a key have no owner: leave reuse out", parameter="reuse")
    return Draft.of(wanted, asker.caller.owner, read_idempotency_key(parts, request, asker))


def read_idempotency_key(parts: LinkParts, request: Request, asker: Asker) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not _IDEMPOTENCY_KEY.fullmatch(key):
        raise BadParameter(
            "Idempotency-Key: it has 1 to 200 letters, digits and signs, without spaces", parameter="Idempotency-Key"
        )
    if asker.caller == ANONYMOUS:
        # Nobody owns what strangers make: without the address, guessing a key would yield another's link.
        address = parts.follow.proxies.client_of(request, by_name(request.scope["headers"]))
        return f"{address}\n{key}"
    return key


def refuse_loop(parts: LinkParts, request: Request, target: str) -> None:
    """Refuses a target on the host of this request: a server need not know all its names, and this is one of them."""
    rules = parts.author.rules
    name = host_name(request.headers.get("host", "")) or ""
    try:
        host = str(read_host(f"[{name}]" if ":" in name else name))
    except BadHost:
        return
    if host not in rules.own:
        replace(rules, own=rules.own | {host}).check(target)


def edit_token_of(parts: LinkParts, asker: Asker, made: MadeLink) -> str | None:
    """The token with which a stranger may edit the link that they have just made.

    A repetition does not get it: people who share an address may send the same Idempotency-Key.
    """
    return parts.edit_tokens.of(made.link) if asker.caller == ANONYMOUS and made.how == "new" else None
