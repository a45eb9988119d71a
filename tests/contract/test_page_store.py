"""What every page store does: places, cursor and counters in one commit, under the job's fence."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.kept import Kept, keep
from support.places import NOON, fetched, page, writing
from support.stores import BACKENDS, Backend
from waypost.importing.cuts import IdRange
from waypost.importing.refusals import MassDelete
from waypost.importing.source import Fetched, Page, Reject
from waypost.places.place import Attributes
from waypost.scaling.jobs.job import Lease, LeaseLost, NewJob

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/full:2026-02-21"


@pytest.fixture
async def lease(backend: Backend) -> Lease:
    await backend.stores.jobs.enqueue([NewJob(shard) for shard in [SHARD]], group="one")
    [claimed] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    return claimed


async def stored(backend: Backend) -> dict[str, str]:
    return {place.external_id: place.name async for batch in backend.stores.places.scan(2) for place in batch}


async def test_a_page_brings_places_moves_the_cursor_and_counts(backend: Backend, lease: Lease) -> None:
    committed = await backend.stores.pages.commit(lease, page(1, 2, cursor="after:2"), writing(counted={"requests": 1}))
    assert committed.changes["added"] == 2
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.status, job.attempts) == ("after:2", "leased", 0)
    assert job.counters == {"requests": 1, "added": 2}
    assert await backend.stores.places.count() == 2
    assert await backend.stores.places.get(fetched(1).place.id) == fetched(1).place


async def test_a_last_page_ends_the_job(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(last=True), writing())
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.status, job.lease_owner) == ("done", None)
    assert job.finished_at is not None
    with pytest.raises(LeaseLost):
        await backend.stores.pages.commit(lease, page(3), writing())


async def test_a_stale_worker_writes_nothing(backend: Backend, lease: Lease) -> None:
    await backend.age(31)
    [newer] = await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    with pytest.raises(LeaseLost):
        await backend.stores.pages.commit(lease, page(1, cursor="after:1"), writing(counted={"requests": 1}))
    assert await stored(backend) == {}
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.counters, job.fence) == (None, {}, newer.fence)


async def test_a_replayed_page_changes_nothing(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(1, 2), writing())
    committed = await backend.stores.pages.commit(lease, page(1, 2), writing(requested_at=NOON + timedelta(minutes=1)))
    assert (committed.changes["added"], committed.changes["changed"], committed.changes["unchanged"]) == (0, 0, 2)


async def test_a_change_in_the_record_alone_is_a_change(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(1), writing())
    edited = msgspec.structs.replace(fetched(1), record=b'{"ID":1,"UsageCost":"free"}')
    committed = await backend.stores.pages.commit(lease, Page((edited,), (), "after:1", last=False), writing())
    assert committed.changes["changed"] == 1


async def test_a_record_that_was_only_formatted_anew_is_unchanged(backend: Backend, lease: Lease) -> None:
    def spelt(record: bytes, lamps: float) -> Page:
        attributes = Attributes(extra={"lamps": lamps})
        found = msgspec.structs.replace(fetched(1).place, attributes=attributes)
        return Page((Fetched(found, record, 1),), (), "after:1", last=False)

    first = '{"ID":1,"Title":"Café","Power":22.0,"lamps":2}'.encode()
    await backend.stores.pages.commit(lease, spelt(first, 2), writing())
    again = spelt(b'{\n  "Title": "Caf\\u00e9",\n  "lamps": 2.0, "Power": 2.2e1,\n  "ID": 1\n}', 2.0)
    committed = await backend.stores.pages.commit(lease, again, writing())
    assert {change: count for change, count in committed.changes.items() if count} == {"unchanged": 1}
    # What came first stays, byte by byte.
    kept = await backend.stores.places.get_with_record(fetched(1).place.id)
    assert kept
    assert kept.record == first


async def test_what_a_later_request_brought_is_not_overwritten_by_a_late_page(backend: Backend, lease: Lease) -> None:
    later, earlier = NOON, NOON - timedelta(seconds=1)
    await backend.stores.pages.commit(lease, page(1, name="new"), writing(requested_at=later))
    committed = await backend.stores.pages.commit(lease, page(1, name="old"), writing(requested_at=earlier))
    assert committed.changes["unchanged"] == 1
    assert await stored(backend) == {"ocm:1": "new"}


async def test_a_rejected_record_is_counted_and_does_not_stop_the_page(backend: Backend, lease: Lease) -> None:
    mixed = Page((fetched(1),), (Reject(b'{"ID":"?"}', "no id"), Reject(b"{", "broken")), "after:1", last=False)
    committed = await backend.stores.pages.commit(lease, mixed, writing())
    assert (committed.changes["added"], committed.changes["rejected"]) == (1, 2)


async def test_of_two_records_with_one_id_in_a_page_the_first_stays(backend: Backend, lease: Lease) -> None:
    twice = Page((fetched(1, name="first"), fetched(2), fetched(1, name="second")), (), "after:1", last=False)
    committed = await backend.stores.pages.commit(lease, twice, writing())
    assert +Counter(committed.changes) == {"added": 2, "rejected": 1}
    assert await stored(backend) == {"ocm:1": "first", "ocm:2": "A place"}
    [reject] = await backend.stores.imports.rejects([SHARD], 10)
    assert reject.reason == "record 3 has the same id as record 1, ocm:1; the first stays"


async def test_a_scan_brings_every_place_once_in_order(backend: Backend, lease: Lease) -> None:
    await backend.stores.pages.commit(lease, page(*range(1, 12)), writing())
    assert list(await stored(backend)) == sorted(f"ocm:{number}" for number in range(1, 12))


# Laws


@pytest.fixture(params=BACKENDS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    yield from keep(request.param, tmp_path)


law = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(order=st.lists(st.integers(0, 20), min_size=1, max_size=8, unique=True))
@settings(law, max_examples=25)
def test_in_whatever_order_pages_arrive_the_latest_request_wins(kept: Kept, order: list[int]) -> None:
    async def check(backend: Backend, number: int) -> None:
        lease = await refresh(backend, str(number))
        for turn, sent in enumerate(order, start=1):
            brought = page(number, name=f"sent at {sent}", last=turn == len(order))
            await bring(backend, lease, brought, at=sent, area=f"country:{number}")
        assert (await stored(backend))[f"ocm:{number}"] == f"sent at {max(order)}"

    kept.check(check)


# What is gone


async def shard(backend: Backend, key: str) -> Lease:
    await backend.stores.jobs.enqueue([NewJob(key)])
    leases = await backend.stores.jobs.claim("me", limit=10, lease=30, max_vanished=5)
    return next(lease for lease in leases if lease.shard == key)


async def bring(backend: Backend, lease: Lease, brought: Page, *, at: int = 0, **more: Any) -> dict[str, int]:
    """A page whose request was sent so many seconds after noon, and whatever it leaves to be done."""
    about = writing(requested_at=NOON + timedelta(seconds=at), **more)
    changes: Counter[str] = Counter()
    committed = await backend.stores.pages.commit(await current(backend, lease), brought, about)
    changes.update(committed.changes)
    while committed.more:
        committed = await backend.stores.pages.go_on(await current(backend, lease), about)
        changes.update(committed.changes)
    if committed.refused:
        raise committed.refused
    return {name: number for name, number in changes.items() if number}


async def current(backend: Backend, lease: Lease) -> Lease:
    """As its holder knows it after each commit."""
    job = await backend.stores.jobs.get(lease.job_id)
    assert job
    return msgspec.structs.replace(lease, cursor=job.cursor)


async def refresh(backend: Backend, name: str) -> Lease:
    return await shard(backend, f"ocm/country:DE/refresh:{name}")


async def test_what_a_refresh_does_not_find_goes_when_it_ends(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, 3, 4, last=True))
    again = await refresh(backend, "one")
    await bring(backend, again, page(1, 3, cursor="after:3", covers=IdRange(1, 4)), at=1)
    assert set(await stored(backend)) == {"ocm:1", "ocm:2", "ocm:3", "ocm:4"}
    changes = await bring(backend, again, page(last=True, covers=IdRange(4)), at=2)
    assert changes == {"removed": 2}
    assert set(await stored(backend)) == {"ocm:1", "ocm:3"}
    assert await backend.stores.places.count() == 2
    assert await backend.stores.places.get(fetched(2).place.id) is None
    assert await backend.stores.places.get_with_record(fetched(2).place.id) is None


async def test_what_comes_back_is_added_again(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, last=True))
    await bring(backend, await refresh(backend, "one"), page(1, last=True, covers=IdRange()), at=1)
    changes = await bring(backend, await refresh(backend, "two"), page(1, 2, last=True, covers=IdRange()), at=2)
    assert changes == {"added": 1, "unchanged": 1}


async def test_a_late_page_does_not_bring_back_what_a_later_request_missed(backend: Backend, lease: Lease) -> None:
    late = await refresh(backend, "late")
    await bring(backend, lease, page(1, 2, last=True))
    await bring(backend, await refresh(backend, "one"), page(1, last=True, covers=IdRange()), at=9)
    assert await bring(backend, late, page(2), at=8) == {"unchanged": 1}
    assert set(await stored(backend)) == {"ocm:1"}


async def test_what_moved_to_another_area_is_not_gone_however_late_its_page_comes(
    backend: Backend, lease: Lease
) -> None:
    french = await shard(backend, "ocm/country:FR/refresh:one")
    await bring(backend, lease, page(1, 2, last=True))
    await bring(backend, await refresh(backend, "one"), page(1, last=True, covers=IdRange()), at=9)
    assert await bring(backend, french, page(2, name="moved"), at=8, area="country:FR") == {"added": 1}
    assert await stored(backend) == {"ocm:1": "A place", "ocm:2": "moved"}


async def test_an_area_has_lost_nothing_that_another_has_got_meanwhile(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, last=True))
    german, french = await refresh(backend, "one"), await shard(backend, "ocm/country:FR/refresh:one")
    await bring(backend, german, page(1, covers=IdRange()), at=1)
    assert await bring(backend, french, page(2, last=True), at=2, area="country:FR") == {"changed": 1}
    assert await bring(backend, german, page(last=True, cursor="after:1"), at=3) == {}
    assert set(await stored(backend)) == {"ocm:1", "ocm:2"}


async def test_what_somebody_else_saw_after_it_was_missed_stays(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, last=True))
    again, window = await refresh(backend, "one"), await shard(backend, "ocm/country:DE/window:2026-02")
    await bring(backend, again, page(1, covers=IdRange()), at=1)
    await bring(backend, window, page(2), at=2)
    assert await bring(backend, again, page(last=True), at=3) == {}
    assert set(await stored(backend)) == {"ocm:1", "ocm:2"}


async def test_pages_in_no_order_strike_out_what_the_first_of_them_missed(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, 3, last=True))
    again = await refresh(backend, "one")
    await bring(backend, again, page(3, covers=IdRange()), at=1)
    assert await bring(backend, again, page(1, last=True), at=2) == {"unchanged": 1, "removed": 1}
    assert set(await stored(backend)) == {"ocm:1", "ocm:3"}


async def test_other_areas_sources_and_numbers_are_left_alone(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 9, last=True))
    await bring(backend, await shard(backend, "ocm/country:FR/full:2026-02-21"), page(2, last=True), area="country:FR")
    part = await refresh(backend, "one/ids:0..5")
    assert await bring(backend, part, page(last=True, covers=IdRange(0, 5)), at=1) == {"removed": 1}
    assert set(await stored(backend)) == {"ocm:2", "ocm:9"}


async def test_a_record_that_is_no_longer_understood_is_not_gone(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, last=True))
    odd = Page((fetched(1),), (Reject(b"{}", "no position", "ocm:2"),), None, last=True, covers=IdRange())
    assert await bring(backend, await refresh(backend, "one"), odd, at=1) == {"unchanged": 1, "rejected": 1}
    assert set(await stored(backend)) == {"ocm:1", "ocm:2"}


async def test_while_a_record_tells_no_id_nothing_is_taken_for_gone(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, 3, last=True))
    again = await refresh(backend, "one")
    await bring(backend, again, page(1, covers=IdRange()), at=1)
    odd = Page((fetched(2),), (Reject(b"{}", "no id"),), None, last=True)
    assert await bring(backend, again, odd, at=2) == {"unchanged": 1, "rejected": 1, "unsure": 1}
    odd = Page((), (Reject(b"{}", "no id"),), None, last=True, covers=IdRange())
    assert await bring(backend, await refresh(backend, "two"), odd, at=3) == {"rejected": 1, "unsure": 1}
    assert set(await stored(backend)) == {"ocm:1", "ocm:2", "ocm:3"}


async def test_a_stale_worker_removes_nothing(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, last=True))
    stale = await refresh(backend, "one")
    await backend.age(31)
    await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    with pytest.raises(LeaseLost):
        await bring(backend, stale, page(last=True, covers=IdRange()), at=1)
    assert set(await stored(backend)) == {"ocm:1"}


async def test_when_too_many_would_go_the_shard_stops_and_nothing_is_lost(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(*range(1, 101), last=True))
    again = await refresh(backend, "one")
    half = page(*range(1, 51), last=True, covers=IdRange())
    with pytest.raises(MassDelete, match="50 of the 100 places"):
        await bring(backend, again, half, at=1, most_removed=0.2)
    assert await backend.stores.places.count() == 100
    job = await backend.stores.jobs.get(again.job_id)
    assert job
    assert (job.status, job.cursor) == ("leased", None)
    assert await bring(backend, again, half, at=1, most_removed=1.0) == {"unchanged": 50, "removed": 50}


async def test_a_few_may_go_whatever_share_they_are(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(*range(1, 11), last=True))
    none = page(last=True, covers=IdRange())
    assert await bring(backend, await refresh(backend, "one"), none, at=1, most_removed=0.2) == {"removed": 10}


# Splitting


async def test_a_page_with_parts_ends_the_shard_and_others_go_on_with_the_rest(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, last=True))
    whole = await refresh(backend, "one")
    parts = (f"{whole.shard}/ids:3..9", f"{whole.shard}/ids:9..")
    changes = await bring(backend, whole, page(1, cursor="after:2", covers=IdRange(1, 3)), at=1, parts=parts)
    assert changes == {"unchanged": 1, "removed": 1}
    job = await backend.stores.jobs.get(whole.shard)
    assert job
    assert job.status == "done"
    found = await backend.stores.jobs.claim("other", limit=10, lease=30, max_vanished=5)
    assert [each.shard for each in found] == list(parts)


# Events


async def events(backend: Backend) -> list[dict[str, Any]]:
    waiting = await backend.stores.outbox.waiting(100)
    assert {(event.name, event.subject) for event in waiting} <= {("places.changed.v1", "ocm")}
    return [msgspec.json.decode(event.data) for event in waiting]


async def test_a_page_tells_what_it_changed_in_one_event_and_removals_follow_in_another(
    backend: Backend, lease: Lease
) -> None:
    await bring(backend, lease, page(1, 2, 3, last=True))
    again = await refresh(backend, "one")
    mixed = Page((fetched(1), fetched(2, name="new"), fetched(4)), (), None, last=True, covers=IdRange())
    await bring(backend, again, mixed, at=1)
    first, second, third = await events(backend)
    assert [each["external_id"] for each in first["added"]] == ["ocm:1", "ocm:2", "ocm:3"]
    nothing = {"source": "ocm", "shard": again.shard, "added": [], "changed": [], "removed": []}
    added, changed = [{"external_id": "ocm:4", "version": 1}], [{"external_id": "ocm:2", "version": 2}]
    assert second == nothing | {"added": added, "changed": changed}
    assert third == nothing | {"removed": [{"external_id": "ocm:3", "version": 2}]}


async def test_importing_twice_writes_no_place_and_no_event(backend: Backend, lease: Lease) -> None:
    await bring(backend, lease, page(1, 2, 3, last=True))
    [relayed] = await backend.stores.outbox.waiting(10)
    assert await backend.stores.outbox.forget([relayed.id]) == 1
    assert await bring(backend, await refresh(backend, "one"), page(1, 2, 3, last=True, covers=IdRange()), at=1) == {
        "unchanged": 3
    }
    assert await backend.stores.outbox.count() == 0


async def test_a_page_that_fails_says_nothing(backend: Backend, lease: Lease) -> None:
    await backend.age(31)
    await backend.stores.jobs.claim("other", limit=1, lease=30, max_vanished=5)
    with pytest.raises(LeaseLost):
        await bring(backend, lease, page(1))
    assert await events(backend) == []


# Full refresh and windows at the same time


@given(
    states=st.lists(st.sampled_from([None, "a", "b"]), min_size=2, max_size=6).filter(
        lambda seen: seen.count(None) < 2
    ),
    late=st.lists(st.integers(0, 5), max_size=6),
)
@settings(law, max_examples=40)
def test_two_shards_that_read_the_same_place_leave_what_the_latest_request_saw(
    kept: Kept, states: list[str | None], late: list[int]
) -> None:
    """Requests see a known place in these states, or miss it, one after the other, and commit late by so many turns."""

    async def check(backend: Backend, number: int) -> None:
        area = f"country:{number}"
        order = sorted(range(len(states)), key=lambda sent: sent + (late[sent] if sent < len(late) else 0))
        held = [await refresh(backend, f"{number}-{sent}") for sent in range(len(states))]
        first = await refresh(backend, f"{number}-first")
        await bring(backend, first, page(number, name="known", last=True), at=-1, area=area)
        for sent in order:
            state = states[sent]
            seen = page(last=True, covers=IdRange()) if state is None else page(number, name=state, last=True)
            await bring(backend, held[sent], seen, at=sent, area=area)
        assert (await stored(backend)).get(f"ocm:{number}") == states[-1]

    kept.check(check)
