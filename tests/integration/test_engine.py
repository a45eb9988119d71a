"""The import engine on real stores: what a provider may do wrong, and what becomes of the shard."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import msgspec
import pytest

from support.places import fetched, page, writing
from support.stores import Backend
from waypost.importing.base import BaseSource
from waypost.importing.cuts import IdRange
from waypost.importing.engine import Engine, PagesBound, Truncated
from waypost.importing.imports import Import
from waypost.importing.pages import Committed, Writing
from waypost.importing.passes import ENDING
from waypost.importing.refusals import MassDelete, TooManyRejected
from waypost.importing.source import (
    BadCursor,
    EmptyPage,
    Page,
    ProviderAway,
    ProviderUnavailable,
    Reject,
    Remembered,
    Scope,
    StuckCursor,
)
from waypost.kernel.clock import monotonic, utc_now
from waypost.places.licence import Licence
from waypost.scaling.jobs.job import Failure, Held, Lease, NewJob
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.budget import Advice

pytestmark = pytest.mark.anyio

SHARD = "ocm/country:DE/refresh:one"

Answer = Callable[[str | None], Page]


class Told(BaseSource):
    """Answers as a test tells it; `left` is what a shard can be cut into."""

    name = "ocm"
    provider = "told"
    licence = Licence("none", "nobody")

    def __init__(self, answer: Answer, left: Sequence[str] = ()) -> None:
        self._answer = answer
        self._left = left
        self.asked: list[str | None] = []

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        self.asked.append(cursor)
        return self._answer(cursor)

    def rest(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        return [ShardKey.parse(f"{shard}/{part}") for part in self._left]


class Free:
    """A budget that lets everybody ask, and remembers what it was told."""

    def __init__(self, *, lost: int = 0) -> None:
        """Of the turns that it gives, the first are over at once."""
        self.advice: list[Advice] = []
        self.given = 0
        self.pauses: list[float | None] = []
        self._lost = lost

    async def acquire(
        self, key: str, *, cost: int = 1, max_wait: float | None = None, max_pause: float | None = None
    ) -> float:
        self.given += 1
        self.pauses.append(max_pause)
        return monotonic() + (1.0 if self.given > self._lost else -1.0)

    async def penalise(self, key: str, retry_after: float | None) -> float:
        return retry_after or 1.0

    async def advise(self, key: str, advice: Advice) -> None:
        self.advice.append(advice)

    def succeeded(self, key: str) -> None: ...

    async def look(self, key: str) -> object: ...


def book(pages: int, *, places: int = 10) -> Answer:
    """So many pages of places, by a keyset."""

    def answer(cursor: str | None) -> Page:
        number = int(cursor or 0)
        if number == pages:
            return Page((), (), cursor, last=True, covers=IdRange(number * places + 1))
        ids = range(number * places + 1, (number + 1) * places + 1)
        covers = IdRange(ids.start, ids.stop)
        return Page(tuple(fetched(each) for each in ids), (), str(number + 1), last=False, covers=covers)

    return answer


async def hold(backend: Backend, shard: str = SHARD) -> Held:
    await backend.stores.jobs.enqueue([NewJob(shard)])
    [lease] = await backend.stores.jobs.claim("me", limit=1, lease=30, max_vanished=5)
    return Held(lease, monotonic() + 30)


async def work(backend: Backend, source: Told, held: Held, *, max_pages: int = 100, budget: Free | None = None) -> None:
    settings = replace(backend.settings.importing, max_pages=max_pages)
    stores, budget = backend.stores, budget or Free()
    await Engine(source, stores.pages, stores.imports, budget, settings=settings, max_wait=1).work(held)  # type: ignore[arg-type]


async def status(backend: Backend, shard: str = SHARD) -> str:
    job = await backend.stores.jobs.get(shard)
    assert job
    return job.status


async def test_a_shard_is_read_to_its_end_and_its_time_is_counted(backend: Backend) -> None:
    held = await hold(backend)
    await work(backend, Told(book(3)), held)
    assert await status(backend) == "done"
    assert await backend.stores.places.count() == 30
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.counters["added"], job.counters["requests"]) == (30, 4)


async def test_a_turn_that_was_lost_before_the_request_could_leave_is_asked_for_again(backend: Backend) -> None:
    budget = Free(lost=2)
    await work(backend, Told(book(3)), await hold(backend), budget=budget)
    assert budget.given == 2 + 4


async def test_no_job_is_held_through_a_pause_that_outlasts_its_lease(backend: Backend) -> None:
    budget = Free()
    await work(backend, Told(book(1)), await hold(backend), budget=budget)
    assert all(pause is not None and 0 < pause <= 30 for pause in budget.pauses)


async def test_a_failed_request_never_looks_like_an_empty_page(backend: Backend) -> None:
    def fails_in_the_middle(cursor: str | None) -> Page:
        if cursor == "2":
            raise ProviderUnavailable("500")
        return book(3)(cursor)

    await work(backend, Told(book(3)), await hold(backend, "ocm/country:DE/refresh:before"))
    held = await hold(backend)
    with pytest.raises(ProviderAway):
        await work(backend, Told(fails_in_the_middle), held)
    assert await status(backend) == "leased"
    assert held.lease.cursor == "2"
    assert await backend.stores.places.count() == 30


@pytest.mark.parametrize("loop", [{None: "a", "a": "a"}, {None: "a", "a": "b", "b": "a"}])
async def test_a_cursor_that_comes_again_stops_the_shard(backend: Backend, loop: dict[str | None, str]) -> None:
    source = Told(lambda cursor: Page((fetched(1),), (), loop[cursor], last=False))
    with pytest.raises(StuckCursor):
        await work(backend, source, await hold(backend))
    assert len(source.asked) <= 3
    assert await status(backend) == "leased"


async def test_an_empty_page_with_a_next_one_stops_the_shard(backend: Backend) -> None:
    with pytest.raises(EmptyPage):
        await work(backend, Told(lambda cursor: Page((), (), "more", last=False)), await hold(backend))
    assert await status(backend) == "leased"


async def test_a_page_of_which_we_keep_nothing_is_not_empty(backend: Backend) -> None:
    def answer(cursor: str | None) -> Page:
        number = int(cursor or 0)
        return Page((), (), str(number + 1), last=number == 3, received=1000)

    await work(backend, Told(answer), await hold(backend))
    assert await status(backend) == "done"


async def test_at_the_bound_of_pages_a_shard_is_given_to_the_next_worker_and_not_done(backend: Backend) -> None:
    held = await hold(backend)
    with pytest.raises(PagesBound):
        await work(backend, Told(book(5)), held, max_pages=2)
    assert (await status(backend), held.lease.cursor) == ("leased", "2")
    await backend.stores.jobs.release(held.lease, counted=held.counted)
    source = Told(book(5))
    await work(backend, source, await hold(backend), max_pages=100)
    assert source.asked == ["2", "3", "4", "5"]
    assert (await status(backend), await backend.stores.places.count()) == ("done", 50)


async def test_at_the_bound_of_pages_a_shard_that_can_be_cut_is_split(backend: Backend) -> None:
    held = await hold(backend)
    await work(backend, Told(book(5), left=["ids:21..40", "ids:40.."]), held, max_pages=2)
    assert held.ended
    assert await status(backend) == "done"
    assert await backend.stores.places.count() == 20
    for part in ("ids:21..40", "ids:40.."):
        assert await status(backend, f"{SHARD}/{part}") == "pending"


async def test_a_last_page_at_the_bound_ends_the_shard(backend: Backend) -> None:
    source = Told(lambda cursor: Page((fetched(1),), (), None, last=True), left=["ids:2.."])
    await work(backend, source, await hold(backend), max_pages=1)
    assert await status(backend) == "done"
    assert await backend.stores.jobs.get(f"{SHARD}/ids:2..") is None


def truncated(_cursor: str | None) -> Page:
    return Page((fetched(1),), (), None, last=False, truncated=True)


async def test_a_truncated_shard_is_split_and_keeps_what_it_got(backend: Backend) -> None:
    await work(backend, Told(truncated, left=["ids:0..5", "ids:5.."]), await hold(backend))
    assert (await status(backend), await backend.stores.places.count()) == ("done", 1)
    assert await status(backend, f"{SHARD}/ids:5..") == "pending"


async def test_a_truncated_shard_that_cannot_be_cut_stops_with_a_reason(backend: Backend) -> None:
    with pytest.raises(Truncated):
        await work(backend, Told(truncated), await hold(backend))
    assert await status(backend) == "leased"


async def test_a_provider_that_lost_most_of_its_places_is_not_believed_unless_a_person_says_so(
    backend: Backend,
) -> None:
    await work(backend, Told(book(5)), await hold(backend, "ocm/country:DE/refresh:before"))
    with pytest.raises(MassDelete):
        await work(backend, Told(book(1)), await hold(backend))
    assert await backend.stores.places.count() == 50
    scope = Scope(countries=("DE",), refresh=True, allow_mass_delete=True)
    await backend.stores.imports.start(Import("allowed", "ocm", scope, "running", utc_now()))
    await work(backend, Told(book(1)), await hold(backend, "ocm/country:DE/refresh:allowed"))
    assert await backend.stores.places.count() == 10


# How shards end


async def test_a_shard_that_was_left_at_its_end_is_ended_without_asking_anybody(backend: Backend) -> None:
    await work(backend, Told(book(2)), await hold(backend, "ocm/country:DE/refresh:before"))
    held = await hold(backend)
    half = page(*range(1, 11), last=True, covers=IdRange())
    committed = await backend.stores.pages.commit(held.lease, half, writing(requested_at=utc_now(), room=1))
    assert committed.more
    await backend.stores.jobs.release(held.lease, counted={})
    source = Told(book(2))
    await work(backend, source, await hold(backend))
    assert (source.asked, await status(backend), await backend.stores.places.count()) == ([], "done", 10)


async def test_what_is_gone_from_a_large_list_without_order_is_looked_for_in_several_commits(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bounds that a user has."""
    many, pages, steps = 6000, backend.stores.pages, 0
    whole = Page(tuple(fetched(each) for each in range(1, many + 1)), (), None, last=True)
    halves = {None: Page(whole.fetched[1::2], (), "more", last=False, covers=IdRange()), "more": page(1, last=True)}
    await work(backend, Told(lambda _cursor: whole), await hold(backend, "ocm/country:DE/refresh:before"))
    go_on = pages.go_on

    async def counted(lease: Lease, about: Writing) -> Committed:
        nonlocal steps
        steps += 1
        committed = await go_on(lease, about)
        assert committed.changes.get("removed", 0) <= 1000
        return committed

    monkeypatch.setattr(pages, "go_on", counted)
    settings = replace(backend.settings.importing, most_removed=1.0)
    stores = backend.stores
    await Engine(Told(halves.__getitem__), pages, stores.imports, Free(), settings=settings, max_wait=1).work(  # type: ignore[arg-type]
        await hold(backend)
    )
    assert steps >= many // 2 // 1000
    assert await stores.places.count() == many // 2 + 1


async def test_a_cursor_that_looks_like_our_own_is_refused(backend: Backend) -> None:
    with pytest.raises(BadCursor):
        await work(backend, Told(lambda _: page(1, cursor=ENDING)), await hold(backend))


async def test_records_that_are_all_rejected_fail_the_shard_and_each_is_counted_once(backend: Backend) -> None:
    odd = Page((), tuple(Reject(b"%d" % number, "odd", f"ocm:{number}") for number in range(3)), None, last=True)
    held = await hold(backend)
    with pytest.raises(TooManyRejected, match="3 of 3 records"):
        await work(backend, Told(lambda _: odd), held)
    await backend.stores.jobs.fail(held.lease, Failure("x", "y"), retry_in=None, counted=held.counted)
    job = await backend.stores.jobs.get(SHARD)
    assert job
    assert (job.cursor, job.counters["rejected"], job.counters["requests"]) == (None, 3, 1)


class Named(Told):
    """Gives its answer a name, and says whether it is still the same. While it is asked, somebody may do something."""

    def __init__(self, answer: Answer, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(answer)
        self._meanwhile = meanwhile
        self.still = 0

    def question(self, shard: ShardKey, cursor: str | None) -> str | None:
        return "all?"

    async def fetch_if_changed(self, shard: ShardKey, cursor: str | None, known: Remembered) -> Page:
        self.still += 1
        await self._meanwhile()
        return Page((), (), known.cursor, known.last, covers=known.covers, etag=known.etag, still=known.external_ids)


async def test_an_answer_that_is_still_the_same_is_asked_for_again_if_its_places_have_changed_here(
    backend: Backend,
) -> None:
    answer = msgspec.structs.replace(page(1, 2, name="A", last=True, covers=IdRange()), etag='"A"')

    async def nothing() -> None: ...

    async def window() -> None:
        held = await hold(backend, "ocm/country:DE/window:2026-02")
        await work(backend, Told(lambda _: page(1, name="B", last=True)), held)

    await work(backend, Named(lambda _: answer, nothing), await hold(backend, "ocm/country:DE/refresh:before"))
    source = Named(lambda _: answer, window)
    await work(backend, source, await hold(backend))
    assert (source.still, source.asked) == (1, [None])
    assert {place.name async for batch in backend.stores.places.scan() for place in batch} == {"A"}
    again = Named(lambda _: answer, nothing)
    await work(backend, again, await hold(backend, "ocm/country:DE/refresh:after"))
    assert (again.still, again.asked) == (1, [])
