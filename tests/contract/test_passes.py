"""How every page store ends a shard: in bounded steps, whoever does them, and only with what is really gone."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.kept import Kept, keep
from support.places import NOON, fetched, page, writing
from support.stores import BACKENDS, Backend, open_backend
from waypost.importing.cuts import IdRange
from waypost.importing.imports import detailed, report
from waypost.importing.pages import Committed, OutdatedAnswer
from waypost.importing.passes import ENDING
from waypost.importing.refusals import MassDelete, TooManyRejected
from waypost.importing.source import Fetched, Page, Reject
from waypost.scaling.jobs.job import Done, Lease, LeaseLost, NewJob, Tally

pytestmark = pytest.mark.anyio

EVERYWHERE = [(name, where) for name in BACKENDS for where in ("beside", "apart")]


def flags(where: str, folder: Path) -> dict[str, str]:
    return {"jobs": f"sqlite:///{folder / 'jobs.db'}"} if where == "apart" else {}


@pytest.fixture(params=EVERYWHERE, ids="-".join)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    name, where = request.param
    async with open_backend(name, tmp_path, flags(where, tmp_path)) as opened:
        yield opened


class Shard:
    """A shard in the hands of one worker after the other."""

    def __init__(self, backend: Backend, key: str) -> None:
        self.backend = backend
        self.key = key
        self.lease: Lease | None = None
        self.changes: Counter[str] = Counter()
        self.commits = 0

    async def claim(self) -> "Shard":
        await self.backend.stores.jobs.enqueue([NewJob(self.key)])
        return await self.change_hands()

    async def change_hands(self) -> "Shard":
        """Whoever had it can write no more."""
        jobs = self.backend.stores.jobs
        if self.lease:
            await jobs.release(self.lease, counted={})
        leases = await jobs.claim("me", limit=100, lease=30, max_vanished=5)
        self.lease = next(lease for lease in leases if lease.shard == self.key)
        return self

    async def bring(self, brought: Page, *, at: int = 0, losing: Sequence[int] = (), **more: Any) -> dict[str, int]:
        """A page, sent so many seconds after noon, and all steps that follow; the worker is lost before some commits.

        Returns what has changed since the shard was claimed.
        """
        about = writing(requested_at=NOON + timedelta(seconds=at), **more)
        committed = await self._commit(brought, about, losing)
        while committed.more:
            committed = await self._commit(None, about, losing)
        if committed.refused:
            raise committed.refused
        return +self.changes

    async def _commit(self, brought: Page | None, about: Any, losing: Sequence[int]) -> Committed:
        pages, stale = self.backend.stores.pages, None
        if self.commits in losing:
            stale = await self._current()
            await self.change_hands()
        lease = await self._current()
        if stale:
            with pytest.raises(LeaseLost):
                await (pages.commit(stale, brought, about) if brought else pages.go_on(stale, about))
        self.commits += 1
        committed = await (pages.commit(lease, brought, about) if brought else pages.go_on(lease, about))
        self.changes.update(committed.changes)
        job = await self.backend.stores.jobs.get(self.key)
        assert job
        assert (job.cursor == ENDING) == committed.more
        if not committed.ended and not committed.more and (brought is None or brought.last) and not committed.refused:
            await self.backend.stores.jobs.complete([Done(lease)])
        return committed

    async def _current(self) -> Lease:
        job = await self.backend.stores.jobs.get(self.key)
        assert job
        assert self.lease
        begun = await self.backend.stores.pages.begin(msgspec.structs.replace(self.lease, cursor=job.cursor))
        assert begun
        return begun


async def shard(backend: Backend, key: str) -> Shard:
    return await Shard(backend, key).claim()


async def refresh(backend: Backend, name: str) -> Shard:
    return await shard(backend, f"ocm/country:DE/refresh:{name}")


async def stored(backend: Backend) -> dict[str, str]:
    return {place.external_id: place.name async for batch in backend.stores.places.scan(100) for place in batch}


def ids(*numbers: int) -> set[str]:
    return {f"ocm:{number}" for number in numbers}


def first(*numbers: int, **more: Any) -> Page:
    """The first page of a list without order."""
    return page(*numbers, covers=IdRange(), **more)


# Bounded steps


async def test_a_list_without_order_ends_in_steps_that_any_worker_can_do(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 41), last=True))
    again = await refresh(backend, "two")
    await again.bring(first(*range(30, 20, -1)), at=1, room=3)
    every_other = range(again.commits, 100, 2)
    assert await again.bring(page(*range(1, 11), 99, last=True), at=2, room=3, losing=every_other) == {
        "added": 1,
        "unchanged": 20,
        "removed": 20,
    }
    assert again.commits > 40
    assert set(await stored(backend)) == ids(*range(1, 11), *range(21, 31), 99)
    job = await backend.stores.jobs.get(again.key)
    assert job
    assert job.status == "done"


async def test_each_step_tells_what_it_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 11), last=True))
    await (await refresh(backend, "two")).bring(page(last=True, covers=IdRange()), at=1, room=10)
    told = [msgspec.json.decode(event.data)["removed"] for event in await backend.stores.outbox.waiting(100)]
    assert [len(removed) for removed in told if removed] == [2] * 5
    assert {each["external_id"] for removed in told for each in removed} == ids(*range(1, 11))


async def test_a_page_that_lacks_more_than_a_commit_looks_through_leaves_the_rest_to_the_end(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 31), last=True))
    again = await refresh(backend, "two")
    await again.bring(page(1, 20, cursor="after:20", covers=IdRange(1, 21)), at=1, room=4)
    assert await again.bring(page(25, last=True, covers=IdRange(21)), at=2, room=4, losing=range(1, 99, 3)) == {
        "unchanged": 3,
        "removed": 27,
    }
    assert set(await stored(backend)) == ids(1, 20, 25)


async def test_what_somebody_sees_between_two_steps_stays(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 11), last=True))
    again = await refresh(backend, "two")
    window = await shard(backend, "ocm/country:DE/window:2026-02")
    lease = await again._current()
    about = writing(requested_at=NOON + timedelta(seconds=1), room=5)
    await backend.stores.pages.commit(lease, page(last=True, covers=IdRange()), about)
    await window.bring(page(7, 8, name="seen", last=True), at=2)
    while (await backend.stores.pages.go_on(await again._current(), about)).more:
        pass
    assert set(await stored(backend)) == ids(7, 8)


async def test_what_an_earlier_reading_saw_does_not_count_once_the_shard_begins_again(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, 3, last=True))
    again = await refresh(backend, "two")
    await again.bring(first(1, 2), at=1)
    await again.bring(first(3), at=2)
    assert await again.bring(page(2, last=True), at=3, room=1) == {"unchanged": 4, "removed": 1}
    assert set(await stored(backend)) == ids(2, 3)


async def test_what_a_split_shard_has_not_read_is_not_gone(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, 3, last=True))
    again = await refresh(backend, "two")
    await again.bring(first(1), at=1)
    await again.bring(page(2, cursor="more"), at=2, parts=(f"{again.key}/ids:0..5", f"{again.key}/ids:5.."))
    assert set(await stored(backend)) == ids(1, 2, 3)
    assert await backend.stores.jobs.count() == {"done": 2, "pending": 2}


# The same id twice, and lists that move


def twice(*, at_rest: bool) -> tuple[Page, Page]:
    records = [fetched(1, name="first"), fetched(2), fetched(3), fetched(1, name="second")]
    numbered = tuple(msgspec.structs.replace(each, number=at) for at, each in enumerate(records, start=1))
    one = Page(numbered[:2], (), "more", last=False, covers=IdRange(), at_rest=at_rest)
    return one, Page(numbered[2:], (), None, last=True, at_rest=at_rest)


async def test_of_two_records_with_one_id_in_a_pass_the_first_stays_and_no_refresh_changes_it(backend: Backend) -> None:
    for name, expected in {"one": {"added": 3, "rejected": 1}, "two": {"unchanged": 3, "rejected": 1}}.items():
        again = await refresh(backend, name)
        for brought in twice(at_rest=True):
            await again.bring(brought)
        assert +again.changes == expected
        assert (await stored(backend))["ocm:1"] == "first"
        [reject] = await backend.stores.imports.rejects([again.key], 10)
        assert reject.reason == "record 4 has the same id as record 1, ocm:1; the first stays"


async def test_an_id_that_comes_twice_shows_that_the_list_moved_and_nothing_is_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, 3, 4, last=True))
    again = await refresh(backend, "two")
    one, two = twice(at_rest=False)
    await again.bring(one, at=1)
    changes = await again.bring(two, at=2, room=1)
    assert changes == {"changed": 1, "unchanged": 2, "rejected": 1, "unsure": 1}
    assert set(await stored(backend)) == ids(1, 2, 3, 4)


async def test_of_a_list_at_rest_with_an_id_twice_what_is_gone_is_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, 3, 4, last=True))
    again = await refresh(backend, "two")
    one, two = twice(at_rest=True)
    await again.bring(one, at=1)
    assert (await again.bring(two, at=2))["removed"] == 1


async def test_a_record_that_could_not_be_understood_makes_no_room_for_its_place_to_be_gone(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, last=True))
    again = await refresh(backend, "two")
    odd = Page((fetched(1),), (Reject(b"{}", "no position", "ocm:2"),), "more", last=False, covers=IdRange())
    await again.bring(odd, at=1)
    assert await again.bring(page(2, last=True), at=2) == {"unchanged": 2, "rejected": 1}


async def test_when_a_source_says_that_its_list_moved_nothing_is_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 10), last=True))
    again = await refresh(backend, "two")
    await again.bring(first(1, 2), at=1)
    moved = msgspec.structs.replace(page(3, last=True), moved="the total went from 4 to 3")
    assert await again.bring(moved, at=2, room=2) == {"unchanged": 3, "unsure": 1}
    assert set(await stored(backend)) == ids(*range(1, 10))
    # And the report says so, of the import and of the shard.
    job = await backend.stores.jobs.get(again.key)
    assert job
    brief = report("two", Tally({"done": 1}, job.counters), 1.0)
    [by_shard] = detailed(brief, [job], [], cancelled=False).by_shard
    assert (brief.unsure, by_shard.unsure) == (1, 1)
    later = await refresh(backend, "three")
    await later.bring(first(1, 2), at=3)
    assert await later.bring(page(3, last=True), at=4, room=2) == {"unchanged": 3, "removed": 6}


async def test_of_a_list_in_which_nothing_shows_a_move_only_what_two_passes_missed_is_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 10), last=True))

    async def read_again(name: str, *numbers: int, at: int) -> dict[str, int]:
        again = await refresh(backend, name)
        await again.bring(first(1, 2), at=at)
        doubtful = msgspec.structs.replace(page(*numbers, last=True), certain=False)
        return await again.bring(doubtful, at=at + 1, room=2, losing=[2, 4])

    assert await read_again("two", 3, 4, 5, at=1) == {"unchanged": 5}
    # Two of those that were missed were there all the time, and another is missed for the first time.
    assert await read_again("three", 3, 4, 6, 7, at=3) == {"unchanged": 6, "removed": 2}
    assert set(await stored(backend)) == ids(*range(1, 8))
    assert await read_again("four", 3, 4, 6, at=5) == {"unchanged": 5, "removed": 1}
    assert set(await stored(backend)) == ids(1, 2, 3, 4, 6, 7)
    certain = await refresh(backend, "five")
    await certain.bring(first(1, 2), at=7)
    assert await certain.bring(page(3, last=True), at=8, room=2) == {"unchanged": 3, "removed": 3}


# Who is asked before much goes


async def test_what_goes_is_judged_for_all_shards_of_an_import_together(backend: Backend) -> None:
    """A city of 300 in 16 cells that a provider has lost: only a few go before somebody is asked."""
    cells = [IdRange(cell * 19, cell * 19 + 19) for cell in range(16)]

    async def bring(cell: IdRange, name: str, *, full: bool, most_removed: float = 0.2) -> dict[str, int]:
        brought = page(*(range(cell.start, cell.end or 0) if full else ()), last=True, covers=cell)
        each = await shard(backend, f"ocm/box:{cell}/refresh:{name}")
        more: dict[str, Any] = {"area": "", "numbers": cell, "most_removed": most_removed}
        return await each.bring(brought, at=1, **more)

    for cell in cells:
        await bring(cell, "one", full=True)
    await bring(cells[0], "two", full=False)
    for cell in cells[1:]:
        with pytest.raises(MassDelete, match=r"38 of the 38 places .* --allow-mass-delete"):
            await bring(cell, "two", full=False)
    assert await backend.stores.places.count() == 15 * 19
    for cell in cells:
        await bring(cell, "three", full=False, most_removed=1.0)
    assert await backend.stores.places.count() == 0


async def test_a_refused_shard_is_read_again_when_somebody_revives_it(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(*range(1, 101), last=True))
    again = await refresh(backend, "two")
    with pytest.raises(MassDelete, match="50 of the 100 places"):
        await again.bring(page(*range(1, 51), last=True, covers=IdRange()), at=1, most_removed=0.2, room=10)
    assert (await again._current()).cursor is None
    await again.change_hands()
    whole = page(*range(1, 101), last=True, covers=IdRange())
    await again.bring(whole, at=2, most_removed=0.2, room=10)
    assert await backend.stores.places.count() == 100


def broken(count: int) -> tuple[Reject, ...]:
    return tuple(Reject(f"{{{number}".encode(), "broken", f"ocm:{number}") for number in range(1000, 1000 + count))


async def test_more_rejects_than_a_share_fail_the_shard_and_nothing_is_removed(backend: Backend) -> None:
    await (await refresh(backend, "one")).bring(page(1, 2, 3, last=True))
    again = await refresh(backend, "two")
    await again.bring(first(*range(3, 82)), at=1)
    with pytest.raises(TooManyRejected, match="21 of 100 records"):
        await again.bring(Page((), broken(21), None, last=True), at=2, most_rejected=0.2)
    assert (await again._current()).cursor is None
    assert set(await stored(backend)) == ids(*range(1, 82))
    assert len(await backend.stores.imports.rejects([again.key], 100)) == 21


# Answers that are still the same


async def test_an_answer_that_is_still_the_same_counts_only_while_the_store_agrees(backend: Backend) -> None:
    """The provider went from A to B, which a window brought, and back to A while a refresh waited for its turn."""
    named = msgspec.structs.replace(first(1, 2, name="A", last=True), etag='"A"')
    await (await refresh(backend, "one")).bring(named, question="all?")
    known = await backend.stores.pages.remembered("all?")
    assert known
    assert known.requested_at == NOON
    waiting = await refresh(backend, "two")
    await (await shard(backend, "ocm/country:DE/window:2026-02")).bring(page(1, name="B", last=True), at=1)
    still = Page((), (), None, last=True, covers=known.covers, etag=known.etag, still=known.external_ids)
    with pytest.raises(OutdatedAnswer):
        await waiting.bring(still, at=2, question="all?", known_at=known.requested_at)
    assert await waiting.bring(named, at=3, question="all?") == {"changed": 1, "unchanged": 1}
    assert set((await stored(backend)).values()) == {"A"}


# The law


@pytest.fixture(params=EVERYWHERE, ids="-".join)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    name, where = request.param
    yield from keep(name, tmp_path, flags(where, tmp_path))


@given(
    before=st.sets(st.integers(1, 12)),
    pages=st.lists(st.lists(st.integers(1, 15), max_size=4), min_size=1, max_size=4),
    still=st.sets(st.integers(0, 3)),
    losing=st.sets(st.integers(0, 30)),
    room=st.integers(1, 6),
)
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pass_leaves_what_the_list_has_and_a_second_one_changes_nothing(
    kept: Kept, before: set[int], pages: list[list[int]], still: set[int], losing: set[int], room: int
) -> None:
    async def check(backend: Backend, turn: int) -> None:
        area, start = f"country:{turn}", turn * 100
        more: dict[str, Any] = {"area": area, "room": room}
        base = await shard(backend, f"ocm/{area}/refresh:zero")
        await base.bring(page(*(start + number for number in before), last=True), area=area)
        held = set(before)
        for time, name in enumerate(("one", "two"), start=1):
            each = await shard(backend, f"ocm/{area}/refresh:{name}")
            for index, brought in enumerate(_in_pages(pages, still, held, start)):
                await each.bring(brought, at=time * 10 + index, losing=sorted(losing), **more)
            seen = {number for numbers in pages for number in numbers}
            moved = sum(len(set(numbers)) for numbers in pages) > len(seen)
            now = {int(found[4:]) - start for found in await stored(backend)} & set(range(1, 16))
            assert now == (seen | held if moved else seen)
            if name == "two":
                assert not {"added", "changed", "removed"} & {*+each.changes}
            held = now

    kept.check(check)


def _in_pages(pages: list[list[int]], still: set[int], held: set[int], start: int) -> list[Page]:
    """Some are told to be as they were, where that can be."""
    made = []
    for index, numbers in enumerate(pages):
        is_still = index in still and set(numbers) <= held and len(set(numbers)) == len(numbers)
        given: tuple[Fetched, ...] = () if is_still else tuple(fetched(start + number) for number in numbers)
        same = tuple(f"ocm:{start + number}" for number in numbers) if is_still else ()
        covers, last = IdRange() if index == 0 else None, index == len(pages) - 1
        made.append(Page(given, (), f"page {index + 1}", last, covers=covers, still=same))
    return made
