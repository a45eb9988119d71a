"""Keeping, listing, rotating and revoking keys."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from waypost.access.configured_keys import Kept
from waypost.access.key_file import add_to_key_file
from waypost.access.keys import Key, KeyInvalid, KeyNotRotated, Scope, State, UnknownKey, rotate
from waypost.access.store import KeyStore
from waypost.kernel.clock import utc_now


class KeyView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key as it is shown; its token only when it is made, and never again.

    `old_until`: until when the secret before its current one is valid, if it still is.
    """

    id: str
    name: str
    scopes: Sequence[Scope]
    state: State
    kept: Kept
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
    old_until: datetime | None = None
    token: str = ""


async def keep_key(keys: KeyStore, key: Key, token: str) -> KeyView:
    """Keeps a key that was just made; the view has its token."""
    await keys.add(key)
    return view_key(key, key.created_at, token)


async def list_keys(keys: KeyStore, configured: Iterable[tuple[Key, Kept]] = ()) -> Sequence[KeyView]:
    now = utc_now()
    return [
        *(view_key(key, now) for key in await keys.list()),
        *(view_key(key, now, kept=kept) for key, kept in configured),
    ]


def file_key(path: Path, key: Key, token: str) -> KeyView:
    """Keeps a key that was just made in a file instead of the store; the view has its token."""
    add_to_key_file(path, key)
    return view_key(key, key.created_at, token, kept="file")


async def rotate_key(
    keys: KeyStore, name_or_id: str, *, overlap: timedelta, expires_at: datetime | None = None
) -> KeyView:
    """Gives a key another secret; the view has its token. The secret so far stays valid for the overlap."""
    key, now = await find_key(keys, name_or_id), utc_now()
    rotated, token = rotate(key, now, overlap, expires_at)
    if not await keys.replace_secret(rotated, key.digest):
        raise KeyNotRotated(
            f"somebody else rotated or revoked the key {key.id} at the same moment", next_step="waypost key list"
        )
    return view_key(rotated, now, token)


async def revoke_key(keys: KeyStore, name_or_id: str) -> KeyView:
    now = utc_now()
    key = await find_key(keys, name_or_id)
    await keys.revoke(key.id, now)
    return view_key(await keys.find(key.id) or key, now)


async def find_key(keys: KeyStore, name_or_id: str) -> Key:
    """The key with this id, or the only one with this name that was not revoked."""
    known = await keys.list()
    found = [key for key in known if key.id == name_or_id] or [
        key for key in known if key.name == name_or_id and key.revoked_at is None
    ]
    if not found:
        raise UnknownKey(
            f"the store has no key {name_or_id[:80]!r} (keys of a file are changed in the file)",
            next_step="waypost key list",
        )
    if len(found) > 1:
        ids = ", ".join(key.id for key in found)
        raise KeyInvalid(f"{len(found)} keys are called {name_or_id[:80]!r}; name one by its id: {ids}")
    return found[0]


def view_key(key: Key, now: datetime, token: str = "", kept: Kept = "store") -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        scopes=key.scopes,
        state=key.state(now),
        kept=kept,
        created_at=key.created_at,
        expires_at=key.expires_at,
        used_at=key.used_at,
        revoked_at=key.revoked_at,
        old_until=key.old_until if key.old_until and key.old_until > now else None,
        token=token,
    )
