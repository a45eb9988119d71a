"""What every store of keys does."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from support.links import NOON
from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.access.key_ring import KeyRing
from waypost.access.keys import Key, KeyExpired, KeyInvalid, KeyNotRotated, KeyRefused, UnknownKey, make_key
from waypost.access.operations import find_key, list_keys, revoke_key, rotate_key
from waypost.kernel.clock import utc_now

pytestmark = pytest.mark.anyio

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


def a_key(name: str = "ada", minutes: int = 0) -> tuple[Key, str]:
    return make_key(name, ["links:write", "links:read"], NOON + timedelta(minutes=minutes))


async def test_a_key_comes_back_as_it_was_kept(backend: Backend) -> None:
    key = msgspec.structs.replace(
        a_key("Zoë's laptop")[0],
        expires_at=NOON + DAY,
        used_at=NOON + MINUTE,
        old_digest=b"\x00" * 32,
        old_until=NOON + 2 * MINUTE,
    )
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
    assert (await KeyRing(keys).recognise(token)).key == key
    assert await keys.revoke(key.id, NOON)
    assert await keys.revoke(key.id, NOON + timedelta(days=1))
    assert not await keys.revoke("nobody", NOON)
    revoked = await keys.find(key.id)
    assert revoked
    assert revoked.revoked_at == NOON
    with pytest.raises(KeyRefused):
        await KeyRing(keys).recognise(token)


async def test_nobody_is_recognised_by_half_a_token_or_anothers_secret(backend: Backend) -> None:
    keys = backend.sharing.keys
    (one, token), (two, other) = a_key(), a_key("two")
    await keys.add(one)
    await keys.add(two)
    mixed = f"wp_{one.id}_{other.partition('_')[2].partition('_')[2]}"
    for wrong in (mixed, "", token[:-1], f"{token}x", token.upper(), f"wp_{one.id}_", f"wp__{'x' * 43}", one.id):
        with pytest.raises(KeyRefused):
            await KeyRing(keys).recognise(wrong)


async def test_an_expired_key_is_told_to_whoever_has_its_secret(backend: Backend) -> None:
    key, token = make_key("ada", ["admin"], NOON, NOON + DAY)
    await backend.sharing.keys.add(key)
    assert (await KeyRing(backend.sharing.keys, clock=lambda: NOON + DAY - MINUTE).recognise(token)).key == key
    ended = KeyRing(backend.sharing.keys, clock=lambda: NOON + DAY)
    with pytest.raises(KeyExpired):
        await ended.recognise(token)
    with pytest.raises(KeyRefused):
        await ended.recognise(f"wp_{key.id}_{'x' * 43}")


async def test_a_rotated_key_keeps_its_id_and_both_tokens_open_it(backend: Backend) -> None:
    keys = backend.sharing.keys
    key, old = a_key("newsletter")
    await keys.add(key)
    ends = utc_now() + 90 * DAY
    view = await rotate_key(keys, "newsletter", overlap=DAY, expires_at=ends)
    assert (view.id, view.expires_at, view.token != old) == (key.id, ends, True)
    for token in (old, view.token):
        assert (await KeyRing(keys).recognise(token)).owner == key.id
    later = KeyRing(keys, clock=lambda: utc_now() + 2 * DAY)
    assert (await later.recognise(view.token)).owner == key.id
    with pytest.raises(KeyExpired):
        await later.recognise(old)
    with pytest.raises(KeyNotRotated):
        await rotate_key(keys, key.id, overlap=DAY)
    [listed] = await list_keys(keys)
    assert (listed.old_until, listed.token) == (view.old_until, "")


async def test_of_two_who_rotate_at_once_one_is_told(backend: Backend) -> None:
    keys = backend.sharing.keys
    key, _ = a_key()
    await keys.add(key)
    first, second = (msgspec.structs.replace(key, digest=bytes([n]) * 32, old_digest=key.digest) for n in (1, 2))
    assert await keys.replace_secret(first, key.digest)
    assert not await keys.replace_secret(second, key.digest)
    found = await keys.find(key.id)
    assert found
    assert found.digest == first.digest
    await keys.revoke(key.id, NOON)
    assert not await keys.replace_secret(second, first.digest)


async def test_a_key_is_found_by_its_id_or_by_a_name_that_only_it_has(backend: Backend) -> None:
    keys = backend.sharing.keys
    made = [a_key(name)[0] for name in ("one", "two", "two", "gone", "gone")]
    for key in made:
        await keys.add(key)
    await revoke_key(keys, made[3].id)
    assert [(await find_key(keys, wanted)).id for wanted in (made[2].id, "one", "gone")] == [
        made[2].id,
        made[0].id,
        made[4].id,
    ]
    with pytest.raises(KeyInvalid, match=made[1].id):
        await find_key(keys, "two")
    with pytest.raises(UnknownKey):
        await find_key(keys, "nobody")
    assert (await revoke_key(keys, "one")).state == "revoked"


async def test_uses_are_written_later_and_a_minute_apart(backend: Backend) -> None:
    keys = backend.sharing.keys
    (one, token), (two, _) = a_key("one"), a_key("two", 1)
    await keys.add(one)
    await keys.add(two)

    async def used() -> list[datetime | None]:
        return [key.used_at for key in await keys.list()]

    clock = iter([NOON, NOON + MINUTE / 2, NOON + 2 * MINUTE])
    ring = KeyRing(keys, clock=lambda: next(clock))
    assert ring.uses
    await ring.recognise(token)
    assert await used() == [None, None]
    await ring.uses.write()
    assert await used() == [NOON, None]
    await ring.recognise(token)
    await ring.uses.write()
    assert await used() == [NOON, None]
    await ring.recognise(token)
    await ring.uses.write()
    assert await used() == [NOON + 2 * MINUTE, None]
    # Another process, whose clock is behind, or that was slow to write.
    await keys.note_uses({one.id: NOON, two.id: NOON, "nobody": NOON})
    assert await used() == [NOON + 2 * MINUTE, NOON]


async def test_a_key_in_memory_ends_on_time_although_the_store_is_not_asked(backend: Backend) -> None:
    keys = backend.sharing.keys
    key, token = make_key("ada", ["places:read"], NOON, NOON + DAY)
    await keys.add(key)
    now = NOON
    ring = KeyRing(keys, clock=lambda: now)
    assert ring.recall(token) is None
    assert (await ring.recognise(token, from_memory=True)).key == key
    await keys.revoke(key.id, NOON)
    known = ring.recall(token)
    assert known
    assert known.key == key
    assert ring.recall(f"wp_{key.id}_{'x' * 43}") is None
    # By what the store says now, and by the key's own end.
    with pytest.raises(KeyRefused):
        await ring.recognise(token)
    now = NOON + DAY
    assert ring.recall(token) is None
    with pytest.raises(KeyExpired):
        await ring.recognise(token, from_memory=True)
