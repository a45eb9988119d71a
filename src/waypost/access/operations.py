"""Keeping, listing and revoking keys."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from waypost.access.keys import Key, Scope, UnknownKey
from waypost.access.store import KeyStore
from waypost.kernel.clock import utc_now


class KeyView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key as it is shown; its token only when it is made, and never again."""

    id: str
    name: str
    scopes: Sequence[Scope]
    created_at: datetime
    revoked_at: datetime | None
    token: str = ""


async def keep_key(keys: KeyStore, key: Key, token: str) -> KeyView:
    """Keeps a key that was just made; the view has its token."""
    await keys.add(key)
    return _view(key, token)


async def list_keys(keys: KeyStore) -> Sequence[KeyView]:
    return [_view(key) for key in await keys.list()]


async def revoke_key(keys: KeyStore, id: str) -> KeyView:  # noqa: A002 - it is what it is
    await keys.revoke(id, utc_now())
    key = await keys.find(id)
    if key is None:
        raise UnknownKey(f"there is no key {id[:80]!r}", next_step="waypost key list")
    return _view(key)


def _view(key: Key, token: str = "") -> KeyView:
    return KeyView(key.id, key.name, key.scopes, key.created_at, key.revoked_at, token)
