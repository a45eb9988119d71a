"""Keys: tokens that name a row by an id and prove it by a secret, of which only a digest is kept.

A key may end at a moment. Rotating gives it another secret, and the one before stays valid for a while beside it.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal, get_args

import msgspec

from waypost.kernel.clock import to_text
from waypost.kernel.errors import AskedWrongly, Conflict, NotFound, TerminalError
from waypost.kernel.moments import in_utc
from waypost.kernel.suggesting import did_you_mean

Scope = Literal["links:read", "links:write", "places:read", "imports:read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
State = Literal["active", "expired", "revoked"]

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


class KeyExpired(TerminalError):
    """The key has ended, or this secret of it: told to its owner alone, who has the secret."""

    http_status = 401

    @classmethod
    def of(cls, id: str, at: datetime) -> "KeyExpired":  # noqa: A002 - it is what it is
        renewal = f"waypost key rotate {id} --expires 90d"
        return cls(f"this key expired at {_shown(at)}; ask for a new secret of it, made with: {renewal}")

    @classmethod
    def replaced(cls, at: datetime) -> "KeyExpired":
        return cls(f"this key got a newer secret, and the older one ended at {_shown(at)}; use the newer one")


class UnknownKey(NotFound):
    """No key has this name or id."""


class KeyNotRotated(Conflict):
    """The key cannot get another secret right now."""


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
    expires_at: datetime | None = None
    # When it was last used, a few minutes late at most.
    used_at: datetime | None = None
    # The secret before this one, which is valid until then.
    old_digest: bytes | None = None
    old_until: datetime | None = None

    def allows(self, scope: Scope) -> bool:
        return "admin" in self.scopes or scope in self.scopes

    def state(self, now: datetime) -> State:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if _has_ended(self.expires_at, now) else "active"


def make_key(name: str, scopes: Iterable[str], now: datetime, expires_at: datetime | None = None) -> tuple[Key, str]:
    """A new key, and its token, which is shown only this once."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    key = Key(
        id=secrets.token_hex(_ID_BYTES),
        name=check_name(name),
        scopes=check_scopes(scopes),
        digest=digest_of(secret),
        created_at=now,
        expires_at=_check_end(expires_at, now),
    )
    return key, _token(key.id, secret)


def rotate(key: Key, now: datetime, overlap: timedelta, expires_at: datetime | None = None) -> tuple[Key, str]:
    """The key with another secret, and the token of it. The secret so far stays valid for the overlap.

    Raises KeyNotRotated while the secret before that one is still valid: two at once are enough, and ending it early
    would cut off those who still use it. Without an overlap both end right now.
    """
    if key.revoked_at is not None:
        raise KeyNotRotated(f"the key {key.id} was revoked", next_step="make a new one: waypost key create NAME")
    if overlap and key.old_until is not None and key.old_until > now:
        raise KeyNotRotated(
            f"the key {key.id} was rotated not long ago, and its older secret is valid until {_shown(key.old_until)}",
            next_step=f"wait until then, or end all older secrets now: waypost key rotate {key.id} --overlap 0",
        )
    if expires_at is None and _has_ended(key.expires_at, now):
        raise KeyNotRotated(
            f"the key {key.id} has expired", next_step=f"say until when: waypost key rotate {key.id} --expires 90d"
        )
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    old_until = now + overlap
    rotated = msgspec.structs.replace(
        key,
        digest=digest_of(secret),
        expires_at=_check_end(expires_at, now) or key.expires_at,
        old_digest=key.digest,
        old_until=min(old_until, key.expires_at) if key.expires_at else old_until,
    )
    return rotated, _token(key.id, secret)


def check_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise KeyInvalid(
            f"a key's name says who uses it, in 1 to {_LONGEST_NAME} printable characters", parameter="name"
        )
    return name


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


def check_secret(key: Key, secret: str, now: datetime) -> None:
    """Raises KeyRefused for a secret that is not the key's, and KeyExpired for one that was."""
    shown = digest_of(secret)
    is_current = hmac.compare_digest(key.digest, shown)
    is_old = key.old_digest is not None and hmac.compare_digest(key.old_digest, shown)
    if key.revoked_at is not None or not (is_current or is_old):
        raise KeyRefused
    end = key.expires_at if is_current else key.old_until
    if end is not None and _has_ended(end, now):
        raise KeyExpired.of(key.id, end) if is_current else KeyExpired.replaced(end)


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _token(id: str, secret: str) -> str:  # noqa: A002 - it is what it is
    return f"wp_{id}_{secret}"


def _check_end(moment: datetime | None, now: datetime) -> datetime | None:
    if moment is None:
        return None
    if moment <= now:
        raise KeyInvalid("a key cannot end in the past; choose a later time", parameter="expires_at")
    try:
        return in_utc(moment)
    except ValueError as error:
        raise KeyInvalid(f"{error}; leave the time out for a key that does not end", parameter="expires_at") from None


def _has_ended(end: datetime | None, now: datetime) -> bool:
    return end is not None and end <= now


def _shown(moment: datetime) -> str:
    return to_text(moment.replace(microsecond=0))
