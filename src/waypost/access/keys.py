"""Keys: tokens that name a row by an id and prove it by a secret, of which only a digest is kept."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, get_args

import msgspec

from waypost.kernel.errors import AskedWrongly, NotFound, TerminalError
from waypost.kernel.suggesting import did_you_mean

Scope = Literal["links:read", "links:write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_ID_BYTES = 6
_SECRET_BYTES = 32
_LONGEST_NAME = 100
_TOKEN = re.compile(r"wp_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)


class KeyRefused(TerminalError):
    """The key is unknown here, or was revoked."""

    http_status = 401

    def __init__(self) -> None:
        super().__init__(
            "the key is not known here, or was revoked", next_step="make a new one: waypost key create NAME"
        )


class UnknownKey(NotFound):
    """No key has this id."""


class KeyInvalid(AskedWrongly):
    """Such a key cannot be made."""


class Key(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    scopes: tuple[Scope, ...]
    # SHA-256 of the secret, which is 32 random bytes: too many to guess, so a slow hash would gain nothing.
    digest: bytes
    created_at: datetime
    revoked_at: datetime | None = None

    def allows(self, scope: Scope) -> bool:
        return "admin" in self.scopes or scope in self.scopes


def make_key(name: str, scopes: Iterable[str], now: datetime) -> tuple[Key, str]:
    """A new key, and its token, which is shown only this once."""
    name = name.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise KeyInvalid(
            f"a key's name says who uses it, in 1 to {_LONGEST_NAME} printable characters", parameter="name"
        )
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    key = Key(
        id=secrets.token_hex(_ID_BYTES), name=name, scopes=check_scopes(scopes), digest=_digest(secret), created_at=now
    )
    return key, f"wp_{key.id}_{secret}"


def check_scopes(names: Iterable[str]) -> tuple[Scope, ...]:
    wanted = set(names)
    for name in sorted(wanted):
        if name not in SCOPES:
            raise KeyInvalid(
                f"there is no scope {name[:40]!r}; choose from {', '.join(SCOPES)}.{did_you_mean(name, SCOPES)}",
                parameter="scopes",
            )
    if not wanted:
        raise KeyInvalid(f"a key without a scope opens nothing; choose from {', '.join(SCOPES)}", parameter="scopes")
    return tuple(scope for scope in SCOPES if scope in wanted)


def parse_token(token: str) -> tuple[str, str] | None:
    """The id and the secret in a token; None if it is not one of our tokens."""
    match = _TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def fits(key: Key, secret: str) -> bool:
    return key.revoked_at is None and hmac.compare_digest(key.digest, _digest(secret))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
