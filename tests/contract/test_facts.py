"""Facts: small things that a store remembers, changed by several processes at once."""

import asyncio

import pytest

from support.stores import Backend

pytestmark = pytest.mark.anyio


async def test_a_fact_is_what_it_was_set_to_last(backend: Backend) -> None:
    facts = backend.stores.facts
    assert await facts.get("provider") is None
    await facts.set("provider", "one")
    await facts.set("provider", "two")
    assert await facts.get("provider") == "two"


async def test_it_is_replaced_only_if_it_still_is_what_was_seen(backend: Backend) -> None:
    facts = backend.stores.facts
    assert not await facts.replace("schedule:hourly", "one", "two")
    assert await facts.get("schedule:hourly") is None
    assert await facts.replace("schedule:hourly", None, "one")
    assert not await facts.replace("schedule:hourly", None, "other")
    assert await facts.replace("schedule:hourly", "one", "two")
    assert not await facts.replace("schedule:hourly", "one", "other")
    assert await facts.get("schedule:hourly") == "two"
    assert await facts.get("schedule:nightly") is None


@pytest.mark.parametrize("seen", [None, "0"])
async def test_of_several_who_replace_it_at_once_one_succeeds(backend: Backend, seen: str | None) -> None:
    if seen:
        await backend.stores.facts.set("schedule:hourly", seen)
    async with backend.open_again() as other:
        tries = [
            stores.facts.replace("schedule:hourly", seen, f"{number}")
            for number, stores in enumerate((backend.stores, other) * 5, start=1)
        ]
        assert sum(await asyncio.gather(*tries)) == 1
