"""Imports: what is remembered of each, and how it stands by its jobs."""

from datetime import UTC, datetime

import pytest

from support.places import writing
from support.stores import Backend
from waypost.importing.imports import Import, Rejected, standing
from waypost.importing.retention import prune
from waypost.importing.source import Page, Reject, Scope
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import NewJob, Tally

pytestmark = pytest.mark.anyio

STARTED = datetime(2026, 2, 21, 12, 30, 0, 123456, tzinfo=UTC)
SCOPE = Scope(("DE", "FR"), since=datetime(2026, 2, 1, tzinfo=UTC), until=datetime(2026, 2, 2, tzinfo=UTC))


def new_import() -> Import:
    return Import(str(new_id()), "ocm", SCOPE, "running", STARTED)


async def test_an_import_is_found_as_it_was_started(backend: Backend) -> None:
    imports = backend.stores.imports
    started = new_import()
    await imports.start(started)
    assert await imports.get(started.id) == started
    assert await imports.get(str(new_id())) is None


async def test_the_end_is_remembered(backend: Backend) -> None:
    imports = backend.stores.imports
    started = new_import()
    await imports.start(started)
    await imports.finish(started.id, "failed")
    found = await imports.get(started.id)
    assert found
    assert found.status == "failed"
    assert found.finished_at


async def test_the_latest_come_first(backend: Backend) -> None:
    imports = backend.stores.imports
    started = [new_import() for _ in range(4)]
    for each in started:
        await imports.start(each)
    assert [each.id for each in await imports.latest(3)] == [each.id for each in started[:0:-1]]


@pytest.mark.parametrize(
    ("stored", "jobs", "status"),
    [
        ("running", {"pending": 1, "done": 3}, "running"),
        ("running", {"done": 3}, "done"),
        ("running", {"done": 3, "dead": 1}, "failed"),
        ("cancelled", {"leased": 1}, "cancelled"),
        ("cancelled", {"done": 3}, "cancelled"),
        ("cancelled", {"done": 3, "dead": 1}, "cancelled"),
        ("cancelled", {}, "cancelled"),
        ("running", {"done": 3, "cancelled": 1}, "cancelled"),
        ("running", {"pending": 1, "cancelled": 1}, "running"),
        ("failed", {"done": 3}, "done"),
        ("failed", {}, "failed"),
    ],
)
def test_how_it_stands_is_decided_by_its_jobs(stored: str, jobs: dict[str, int], status: str) -> None:
    known = Import("one", "ocm", SCOPE, stored, STARTED)  # type: ignore[arg-type] # a status
    assert standing(known, Tally(jobs, {})).status == status  # type: ignore[arg-type] # statuses


async def reject(backend: Backend, shard: str, *rejects: Reject) -> None:
    await backend.stores.jobs.enqueue([NewJob(shard)], group="one")
    [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    await backend.stores.pages.commit(lease, Page((), rejects, None, last=True), writing())


async def test_rejected_records_are_shown_for_the_shards_that_had_them(backend: Backend) -> None:
    await reject(backend, "ocm/country:DE/full:2026-02-21", Reject(b"{}", "no position", "ocm:2"))
    await reject(backend, "ocm/country:FR/full:2026-02-21", Reject(b"[]", "no record"), Reject(b"{", "broken"))
    await reject(backend, "ocm/country:NL/full:2026-02-21", Reject(b"{}", "no position", "ocm:3"))
    imports, shards = backend.stores.imports, [f"ocm/country:{code}/full:2026-02-21" for code in ("DE", "FR")]
    german, *french = await imports.rejects(shards, 20)
    assert german == Rejected(shards[0], "ocm:2", "no position")
    assert {each.reason for each in french} == {"no record", "broken"}
    assert {(each.shard, each.external_id) for each in french} == {(shards[1], None)}
    assert await imports.rejects(shards, 2) == [german, french[0]]
    assert await imports.rejects([], 20) == []


async def test_rejected_records_are_forgotten_with_jobs_of_their_age(backend: Backend) -> None:
    shard = "ocm/country:DE/full:2026-02-21"
    await reject(backend, shard, Reject(b"{}", "no position", "ocm:2"))
    assert await prune(backend.stores.imports, backend.stores.jobs, older_than=3600) == 0
    assert await backend.stores.imports.rejects([shard], 20)
    # A moment ago is before the moment that has yet to come.
    assert await prune(backend.stores.imports, backend.stores.jobs, older_than=-60) == 1
    assert await backend.stores.imports.rejects([shard], 20) == []
