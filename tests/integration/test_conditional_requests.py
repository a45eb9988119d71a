"""A provider that names its answers is asked whether they have changed, and sends nothing where they have not."""

import hashlib
from dataclasses import replace

import pytest

from support.lighthouses import FIELDS, Lighthouses, light, open_source
from support.stores import Backend
from support.told_provider import Provider, http, provider
from waypost.importing.engine import Engine
from waypost.kernel.clock import monotonic
from waypost.scaling.jobs.job import Held, NewJob
from waypost.scaling.jobs.shard_keys import ShardKey

pytestmark = pytest.mark.anyio

RECORDS = 'records = "data.items"'
OFFSET = (
    f'{RECORDS}\n[pagination]\nkind = "offset"\nparameter = "offset"\nsize_parameter = "limit"\ntotal = "meta.total"'
)
KEYSET = f'{RECORDS}\n[pagination]\nkind = "keyset"\nparameter = "after"\nsize_parameter = "limit"'


class Named(Lighthouses):
    """Every answer has a name made of its content."""

    def __call__(self, request: str) -> bytes:
        answer = super().__call__(request)
        etag = f'"{hashlib.sha256(answer).hexdigest()[:16]}"'
        if f"If-None-Match: {etag}".lower() in request.lower():
            return http(b"", status=304, headers={"ETag": etag}, keep_alive=True)
        head, _, body = answer.partition(b"\r\n\r\n")
        return head + f"\r\nETag: {etag}\r\n\r\n".encode() + body


class NoBudget:
    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        return monotonic() + 1.0

    def succeeded(self, key: str) -> None: ...


async def refresh(backend: Backend, told: Provider, text: str, name: str, *, fields: str = FIELDS) -> dict[str, int]:
    shard = f"lights/refresh:{name}"
    await backend.stores.jobs.enqueue([NewJob(shard)])
    [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    stores = backend.stores
    async with open_source(f"{told.url}/lights", text, fields=fields, page_size=10) as source:
        engine = Engine(
            source,
            stores.pages,
            stores.imports,
            NoBudget(),  # type: ignore[arg-type]
            settings=replace(backend.settings.importing, most_removed=1.0),
            max_wait=1,
        )
        await engine.work(Held(lease, monotonic() + 30))
    job = await stores.jobs.get(shard)
    assert job
    assert job.status == "done"
    return {change: job.counters.get(change, 0) for change in ("added", "changed", "unchanged", "removed")}


async def names(backend: Backend) -> dict[str, str]:
    return {place.external_id: place.name async for batch in backend.stores.places.scan() for place in batch}


def not_modified(told: Provider) -> list[bool]:
    return [header is not None for header in told.header("If-None-Match")]


@pytest.mark.parametrize("text", [OFFSET, KEYSET], ids=["offset", "keyset"])
async def test_the_second_time_only_what_has_changed_is_sent(backend: Backend, text: str) -> None:
    lights = Named([light(number) for number in range(1, 26)])
    async with provider(lights) as told:
        assert await refresh(backend, told, text, "one") == {"added": 25, "changed": 0, "unchanged": 0, "removed": 0}
        first = len(told.requests)
        again = await refresh(backend, told, text, "two")
        assert again == {"added": 0, "changed": 0, "unchanged": 25, "removed": 0}
        assert not any(not_modified(told)[:first])
        assert sum(not_modified(told)[first:]) >= 3
        lights.lights[2] = light(3, title="New")
        lights.lights.pop(20)
        third = await refresh(backend, told, text, "three")
        assert third == {"added": 0, "changed": 1, "unchanged": 23, "removed": 1}
    assert (await names(backend))["lights:3"] == "New"
    assert "lights:21" not in await names(backend)


async def test_an_answer_is_not_believed_once_a_place_in_it_has_changed_here(backend: Backend) -> None:
    """It went to another state and back, while somebody else brought the state in between."""
    lights = Named([light(1), light(2)])
    async with provider(lights) as told:
        await refresh(backend, told, OFFSET, "one")
        lights.lights[0] = light(1, title="In between")
        await refresh(backend, told, f'{OFFSET}\n[params]\nfresh = "yes"', "window")
        lights.lights[0] = light(1)
        again = await refresh(backend, told, OFFSET, "two")
        assert again["changed"] == 1
    assert (await names(backend))["lights:1"] == "Light 1"


async def test_an_edited_file_reads_again_what_the_provider_has_not_changed(backend: Backend) -> None:
    by_number = FIELDS.replace('name = "title"', 'name = "id"')
    async with provider(Named([light(1), light(2)])) as told:
        await refresh(backend, told, OFFSET, "one")
        assert (await refresh(backend, told, OFFSET, "two", fields=by_number))["changed"] == 2
        assert await names(backend) == {"lights:1": "1", "lights:2": "2"}
        assert (await refresh(backend, told, OFFSET, "three", fields=by_number))["unchanged"] == 2
        assert not_modified(told)[-1]
        assert (await refresh(backend, told, OFFSET, "four"))["changed"] == 2


async def test_a_name_with_our_key_in_it_is_not_kept() -> None:
    told_name = http({"data": {"items": [light(1)]}}, headers={"ETag": '"hunter2-key"'}, keep_alive=True)
    text = f'{RECORDS}\n[auth]\nheader = "X-Key"\nvariable = "LIGHTS_KEY"'
    environ = {"LIGHTS_KEY": "hunter2-key"}
    async with provider(told_name) as told, open_source(f"{told.url}/lights", text, environ=environ) as source:
        assert (await source.fetch(ShardKey.parse("lights/refresh:x"), None)).etag is None
