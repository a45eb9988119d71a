"""What every store of keys does."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from support.links import NOON
from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.access.caller import recognise
from waypost.access.keys import Key, KeyRefused, make_key

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


def a_key(name: str = "ada", minutes: int = 0) -> tuple[Key, str]:
    return make_key(name, ["links:write", "links:read"], NOON + timedelta(minutes=minutes))


async def test_a_key_comes_back_as_it_was_kept(backend: Backend) -> None:
    key, _ = a_key("Zoë's laptop")
    await backend.sharing.keys.add(key)
    assert await backend.sharing.keys.find(key.id) == key
    assert await backend.sharing.keys.find("nobody") is None


async def test_keys_are_listed_oldest_first_with_those_that_were_revoked(backend: Backend) -> None:
    keys = backend.sharing.keys
    second, first = a_key("second", 2)[0], a_key("first", 1)[0]
    for key in (second, first):
        await keys.add(key)
    await keys.revoke(first.id, NOON)
    assert [(key.name, key.revoked_at) for key in await keys.list()] == [("first", NOON), ("second", None)]


async def test_a_key_is_revoked_once_and_for_good(backend: Backend) -> None:
    keys = backend.sharing.keys
    key, token = a_key()
    await keys.add(key)
    assert (await recognise(keys, token)).key == key
    assert await keys.revoke(key.id, NOON)
    assert await keys.revoke(key.id, NOON + timedelta(days=1))
    assert not await keys.revoke("nobody", NOON)
    revoked = await keys.find(key.id)
    assert revoked
    assert revoked.revoked_at == NOON
    with pytest.raises(KeyRefused):
        await recognise(keys, token)


async def test_nobody_is_recognised_by_half_a_token_or_anothers_secret(backend: Backend) -> None:
    keys = backend.sharing.keys
    (one, token), (two, other) = a_key(), a_key("two")
    await keys.add(one)
    await keys.add(two)
    mixed = f"wp_{one.id}_{other.partition('_')[2].partition('_')[2]}"
    for wrong in (mixed, "", token[:-1], f"{token}x", token.upper(), f"wp_{one.id}_", f"wp__{'x' * 43}", one.id):
        with pytest.raises(KeyRefused):
            await recognise(keys, wrong)
