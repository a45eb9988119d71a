"""What is kept for a time and then forgotten, on every backend: in bites, and only what nobody needs."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from support.places import NOON, page, writing
from support.stores import BACKENDS, Backend, open_backend
from waypost.importing.cuts import IdRange
from waypost.importing.imports import Import, ImportStatus
from waypost.importing.pages import Writing
from waypost.importing.retention import forget_all, forget_passes, forget_shards, prune
from waypost.importing.source import Extent, Page, Scope
from waypost.roles.kit.background_upkeep import retention
from waypost.scaling.jobs.job import Done, Lease, LeaseLost, NewJob

pytestmark = pytest.mark.anyio

SHARDS = [f"ocm/country:{country}/full:2026-02-21" for country in ("AT", "BE", "CH")]
DAY = 86400.0


@pytest.fixture(params=BACKENDS)
async def apart(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Jobs in another store than the places."""
    async with open_backend(request.param, tmp_path, {"jobs": f"sqlite:///{tmp_path / 'jobs.db'}"}) as opened:
        yield opened


@pytest.fixture(params=[(name, where) for name in BACKENDS for where in ("beside", "apart")], ids="-".join)
async def begun(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Jobs beside the places, or in another store."""
    name, where = request.param
    flags = {"jobs": f"sqlite:///{tmp_path / 'jobs.db'}"} if where == "apart" else {}
    async with open_backend(name, tmp_path, flags) as opened:
        yield opened


async def claim(backend: Backend) -> list[Lease]:
    return list(await backend.stores.jobs.claim("me", limit=10, lease=30, max_vanished=5))


async def import_all(backend: Backend) -> list[Lease]:
    await backend.stores.jobs.enqueue([NewJob(shard) for shard in SHARDS])
    leases = await claim(backend)
    for number, lease in enumerate(leases):
        await backend.stores.pages.commit(lease, page(number, cursor=None, last=True), writing())
    return leases


async def known(backend: Backend) -> list[str]:
    found = await backend.stores.imports.shards_after("", older_than=-60, limit=100)
    assert found.last is None
    return list(found.old)


# Shards of jobs that are kept apart


async def test_what_is_known_of_a_shard_stays_as_long_as_its_job(apart: Backend) -> None:
    imports, jobs = apart.stores.imports, apart.stores.jobs
    leases = await import_all(apart)
    assert await forget_shards(imports, jobs, -60) == 0
    await jobs.complete([Done(lease) for lease in leases])
    assert await forget_shards(imports, jobs, -60) == 0
    assert await jobs.prune(older_than=-60) == 3
    assert await forget_shards(imports, jobs, DAY) == 0
    assert await known(apart) == SHARDS


async def test_a_shard_whose_job_is_forgotten_is_forgotten_too_but_never_the_highest_fence(apart: Backend) -> None:
    leases = await import_all(apart)
    await apart.stores.jobs.complete([Done(lease) for lease in leases])
    highest = max(leases, key=lambda lease: lease.fence)
    assert await prune(apart.stores.imports, apart.stores.jobs, older_than=-60) == 3
    assert await known(apart) == [highest.shard]
    # As it was, nobody with an older fence can write; and new ones are above it.
    with pytest.raises(LeaseLost):
        await apart.stores.pages.begin(Lease("x", highest.shard, highest.fence - 1, 1, None))
    async with apart.open_again() as again:
        await again.jobs.enqueue([NewJob(shard) for shard in SHARDS])
        fences = [lease.fence for lease in await again.jobs.claim("me", limit=10, lease=30, max_vanished=5)]
    assert min(fences) > highest.fence


async def test_shards_are_looked_through_in_bites(apart: Backend) -> None:
    await import_all(apart)
    first = await apart.stores.imports.shards_after("", older_than=-60, limit=2)
    assert (list(first.old), first.last) == (SHARDS[:2], SHARDS[1])
    second = await apart.stores.imports.shards_after(SHARDS[1], older_than=-60, limit=2)
    assert (list(second.old), second.last) == (SHARDS[2:], None)
    assert (await apart.stores.imports.shards_after("", older_than=DAY, limit=2)).old == []


# Readings that have begun and not ended


async def leave_unread(backend: Backend, group: str) -> None:
    """Two shards that hold ten places are begun again: one without order (marks), one in order (candidates)."""
    jobs, pages = backend.stores.jobs, backend.stores.pages
    whole = page(*range(10), cursor=None, last=True)
    for area in ("country:AT", "country:BE"):
        await jobs.enqueue([NewJob(f"ocm/{area}/full:2026-02-21")])
        [lease] = await claim(backend)
        await pages.commit(lease, whole, writing(area=area))
        await jobs.complete([Done(lease)])
        await jobs.enqueue([NewJob(f"ocm/{area}/refresh:{group}")], group=group)
        [lease] = await claim(backend)
        covers = IdRange() if area == "country:AT" else IdRange(0, 9)
        later = writing(area=area, requested_at=NOON + timedelta(seconds=1))
        await pages.commit(lease, page(1, 2, 3, cursor="3", covers=covers), later)


async def unread(backend: Backend) -> list[str]:
    found = await backend.stores.imports.passes_after("", older_than=-60, limit=100)
    assert found.last is None
    return list(found.old)


BEGUN = ["ocm/country:AT/refresh:one", "ocm/country:BE/refresh:one"]


async def test_a_reading_stays_as_long_as_its_job_and_goes_after_it_with_all_it_left(begun: Backend) -> None:
    imports, jobs = begun.stores.imports, begun.stores.jobs
    await leave_unread(begun, "one")
    assert await unread(begun) == BEGUN
    assert await forget_passes(imports, jobs, -60) == 0
    await jobs.cancel("one")
    assert await forget_passes(imports, jobs, -60) == 0
    await jobs.prune(older_than=-60, statuses=["cancelled"])
    assert await forget_passes(imports, jobs, DAY) == 0
    assert await unread(begun) == BEGUN
    # Three marks and six candidates, and the readings themselves.
    assert await forget_passes(imports, jobs, -60) == 3 + 6 + 2
    assert await unread(begun) == []


async def test_a_reading_is_forgotten_in_bites_and_not_once_somebody_goes_on_with_it(begun: Backend) -> None:
    imports = begun.stores.imports
    await leave_unread(begun, "one")
    bites = [await imports.forget_pass(BEGUN[0], older_than=-60, limit=2) for _ in range(4)]
    assert bites == [2, 1, 1, 0]
    assert await imports.forget_pass(BEGUN[1], older_than=DAY, limit=2) == 0
    assert [await imports.forget_pass(BEGUN[1], older_than=-60, limit=4) for _ in range(4)] == [4, 2, 1, 0]


async def test_pruning_takes_cancelled_readings_along(begun: Backend) -> None:
    await leave_unread(begun, "one")
    await begun.stores.jobs.cancel("one")
    await prune(begun.stores.imports, begun.stores.jobs, older_than=-60)
    assert await unread(begun) == []


async def test_readings_are_looked_through_in_bites(begun: Backend) -> None:
    await leave_unread(begun, "one")
    first = await begun.stores.imports.passes_after("", older_than=-60, limit=1)
    assert (list(first.old), first.last) == (BEGUN[:1], BEGUN[0])
    second = await begun.stores.imports.passes_after(BEGUN[0], older_than=-60, limit=2)
    assert (list(second.old), second.last) == (BEGUN[1:], None)


# Answers, rejects, events, jobs


def named(etag: str = "v1", *, still: tuple[str, ...] = ()) -> Page:
    plain = page(1, cursor=None, last=False)
    return Page(() if still else plain.fetched, (), None, last=False, etag=etag, still=still)


def asking(question: str, at: datetime) -> Writing:
    return Writing(requested_at=at, counted={}, extent=Extent("ocm", "country:DE"), question=question)


async def test_an_answer_is_kept_for_as_long_as_it_is_given_also_by_a_304(backend: Backend) -> None:
    stores = backend.stores
    await stores.jobs.enqueue([NewJob(SHARDS[0])])
    [lease] = await claim(backend)
    now = await stores.pages.now()
    long_ago = now - timedelta(days=40)
    await stores.pages.commit(lease, named(), asking("old", long_ago))
    await stores.pages.commit(lease, named(), asking("alive", long_ago))
    await stores.pages.commit(lease, named(still=("ocm:1",)), asking("alive", now))
    forget = stores.imports.forget_answers
    assert await forget(older_than=41 * DAY, limit=10) == 0
    assert await forget(older_than=30 * DAY, limit=10) == 1
    assert await stores.pages.remembered("old") is None
    assert await forget(older_than=30 * DAY, limit=10) == 0
    assert await stores.pages.remembered("alive")


async def test_what_shards_removed_is_forgotten_by_age(backend: Backend) -> None:
    await backend.stores.jobs.enqueue([NewJob("ocm/country:DE/refresh:one")])
    [lease] = await claim(backend)
    await backend.stores.pages.commit(lease, page(1, last=True, covers=IdRange()), writing())
    forget = backend.stores.imports.forget_removals
    assert await forget(older_than=DAY, limit=10) == 0
    assert await forget_all(forget, -60) == 1


async def test_events_are_forgotten_by_age_the_oldest_first_and_so_many_at_most(backend: Backend) -> None:
    await backend.stores.jobs.enqueue([NewJob(SHARDS[0])])
    [lease] = await claim(backend)
    for number in range(5):
        await backend.stores.pages.commit(lease, page(number, cursor=str(number)), writing())
    outbox = backend.stores.outbox
    events = await outbox.waiting(10)
    assert await outbox.forget_older(older_than=DAY, limit=2) == 0
    assert await outbox.forget_older(older_than=-60, limit=2) == 2
    assert await outbox.waiting(10) == events[2:]
    assert await forget_all(outbox.forget_older, -60) == 3


async def test_pruning_takes_answers_and_removals_along(backend: Backend) -> None:
    stores = backend.stores
    await stores.jobs.enqueue([NewJob("ocm/country:DE/refresh:one")])
    [lease] = await claim(backend)
    await stores.pages.commit(lease, named(), asking("old", await stores.pages.now()))
    await stores.pages.commit(lease, page(1, last=True, covers=IdRange()), writing())
    await prune(stores.imports, stores.jobs, older_than=-60)
    assert await stores.pages.remembered("old") is None
    assert await stores.imports.forget_removals(older_than=-60, limit=10) == 0


async def test_jobs_and_events_are_forgotten_without_being_asked_for(backend: Backend) -> None:
    stores = backend.stores
    await import_all(backend)
    by_default = retention(backend.settings, stores)
    assert (by_default.keep_jobs, by_default.keep_events) == (30 * DAY, 7 * DAY)
    await replace(by_default, keep_jobs=-60, keep_events=-60).forget_old()
    assert await stores.jobs.list() == []
    assert await stores.outbox.waiting(10) == []


async def test_how_an_import_ended_is_known_after_its_jobs_are_pruned(backend: Backend) -> None:
    started = Import("import-1", "ocm", Scope(("DE",)), "running", await backend.stores.pages.now())
    await backend.stores.imports.start(started)
    await backend.stores.jobs.enqueue([NewJob(SHARDS[0])], group=started.id)
    await backend.stores.jobs.complete([Done(lease) for lease in await claim(backend)])
    assert await prune(backend.stores.imports, backend.stores.jobs, older_than=-60) == 1
    found = await backend.stores.imports.get(started.id)
    assert found
    assert found.status == "done"


async def test_an_import_is_forgotten_as_long_after_its_end_as_its_jobs_and_never_while_it_runs(
    backend: Backend,
) -> None:
    imports = backend.stores.imports
    statuses: list[ImportStatus] = ["done", "failed", "cancelled", "running"]
    for number, status in enumerate(statuses):
        await imports.start(Import(f"import-{number}", "ocm", Scope(("DE",)), "running", NOON))
        if status != "running":
            await imports.finish(f"import-{number}", status)
    assert await imports.forget_imports(older_than=DAY, limit=10) == 0
    assert await imports.forget_imports(older_than=-60, limit=2) == 2
    await prune(imports, backend.stores.jobs, older_than=-60)
    assert [each.status for each in await imports.latest(10)] == ["running"]


async def test_it_is_done_by_one_of_all_that_share_the_store_once_an_hour(backend: Backend) -> None:
    stores = backend.stores
    await retention(backend.settings, stores).forget_old()
    noted = await stores.facts.get("forgot-at")
    assert noted
    await retention(backend.settings, stores).forget_old()
    assert await stores.facts.get("forgot-at") == noted
