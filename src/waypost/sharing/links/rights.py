"""Who may do what with links."""

import base64
import hashlib
import hmac
import secrets

from waypost.access.caller import ANONYMOUS, LOCAL, Caller
from waypost.access.keys import Scope
from waypost.kernel.errors import Forbidden
from waypost.scaling.fact_store import Facts
from waypost.sharing.links.link import Link
from waypost.sharing.links.store import LinkStore

SECRET = "edit-token-secret"  # noqa: S105 - the name of a fact
_SECRET_BYTES = 32
# How many edits are read at a time, from the last one back.
_AT_A_TIME = 100


class DisabledByAdmin(Forbidden):
    """An administrator disabled the link, and only one can enable it again."""

    @classmethod
    def of(cls, link: Link) -> "DisabledByAdmin":
        return cls(f"an administrator disabled {link.phrase!r}; ask the people who run this site to enable it again")


class EditTokens:
    """Tokens that let anonymous authors edit their links. They are derived from the link's id, so none is stored."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def of(self, link: Link) -> str:
        digest = hmac.digest(self._secret, link.id.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def fits(self, link: Link, token: str) -> bool:
        """Whether the token is this link's; only links that nobody owns have one."""
        is_same = hmac.compare_digest(self.of(link).encode(), token.encode(errors="replace"))
        return is_same and link.owner is None


async def open_edit_tokens(facts: Facts) -> EditTokens:
    """Opens the tokens with the secret that all processes on a store share; the first process makes it."""
    await facts.replace(SECRET, None, secrets.token_hex(_SECRET_BYTES))
    known = await facts.get(SECRET)
    assert known is not None
    return EditTokens(bytes.fromhex(known))


class Rights:
    """What one caller may do; `edit_token` is what they showed beside their key, or without one."""

    def __init__(self, caller: Caller, tokens: EditTokens, edit_token: str | None = None) -> None:
        self._caller = caller
        self._tokens = tokens
        self._edit_token = edit_token

    def may_edit(self, link: Link) -> bool:
        return self._holds(link, "links:write")

    def may_read(self, link: Link) -> bool:
        """Whether the caller may read its statistics, its single visits and its history."""
        return self._holds(link, "links:read")

    def _holds(self, link: Link, scope: Scope) -> bool:
        if self._caller.is_admin:
            return True
        if self._edit_token is not None and self._tokens.fits(link, self._edit_token):
            return True
        return link.owner is not None and link.owner == self._caller.owner and self._caller.allows(scope)


def author_name(link: Link) -> str:
    """The name of the link's author in its history; all other names there are administrators'."""
    without_a_key = {caller.owner: caller.name for caller in (LOCAL, ANONYMOUS)}
    return without_a_key.get(link.owner, f"key:{link.owner}")


async def is_held(links: LinkStore, link: Link, *but_for: str) -> bool:
    """Whether an administrator disabled a disabled link, or has changed it since.

    Edits by its author do not count, nor do those by the names in `but_for`.
    """
    before, author = link.version, author_name(link)
    while before > 0:
        after = max(0, before - _AT_A_TIME)
        for edit in reversed(await links.history(link.id, after, before - after)):
            if not edit.after.disabled:
                return False
            if edit.by not in (*but_for, author):
                return True
        before = after
    return False
