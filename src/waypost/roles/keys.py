"""Keys for the command line: made, listed and revoked straight in the store."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from waypost.access.keys import Key, Scope, UnknownKey, make_key
from waypost.bootstrap.stores import open_stores, refuse_without_links
from waypost.kernel.clock import utc_now
from waypost.settings import Settings


class KeyView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key as it is shown; its token only when it is made, and never again."""

    id: str
    name: str
    scopes: Sequence[Scope]
    created_at: datetime
    revoked_at: datetime | None
    token: str = ""


async def create_key(settings: Settings, name: str, scopes: Iterable[str]) -> KeyView:
    refuse_without_links(settings)
    key, token = make_key(name, scopes, utc_now())
    async with open_stores(settings) as stores:
        await stores.keys.add(key)
    return _view(key, token)


async def list_keys(settings: Settings) -> Sequence[KeyView]:
    refuse_without_links(settings)
    async with open_stores(settings, must_exist=True) as stores:
        return [_view(key) for key in await stores.keys.list()]


async def revoke_key(settings: Settings, id: str) -> KeyView:  # noqa: A002 - it is what it is
    refuse_without_links(settings)
    async with open_stores(settings, must_exist=True) as stores:
        await stores.keys.revoke(id, utc_now())
        key = await stores.keys.find(id)
    if key is None:
        raise UnknownKey(f"there is no key {id[:80]!r}", next_step="waypost key list")
    return _view(key)


def _view(key: Key, token: str = "") -> KeyView:
    return KeyView(key.id, key.name, key.scopes, key.created_at, key.revoked_at, token)
