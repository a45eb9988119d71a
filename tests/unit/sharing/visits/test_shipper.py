"""From the spool to the store: each visit counts once, however often it is shipped and by whom."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from waypost.adapters.sqlite.database import SqliteDatabase, Work
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.errors import TransientError
from waypost.settings import load_settings
from waypost.sharing.visits import shipper as shipping
from waypost.sharing.visits.set_aside import SetAsideLine
from waypost.sharing.visits.shipper import Shipper, VisitSink
from waypost.sharing.visits.spool import Spool
from waypost.sharing.visits.store import VisitsRefused, VisitStore
from waypost.sharing.visits.visit import Visit
from waypost.telemetry.metrics import VISITS_SHIPPED

AT = datetime(2026, 2, 21, 12, tzinfo=UTC)
LINK = "otter"


def visit(number: int) -> Visit:
    return Visit(f"visit-{number}", LINK, AT)


def leave_behind(folder: Path, count: int, name: str = "dead") -> None:
    folder.mkdir(exist_ok=True)
    lines = [msgspec.json.encode(visit(number)) + b"\n" for number in range(count)]
    (folder / f"{name}.visits").write_bytes(b"".join(lines))


class Watched:
    """A store that can be away, and that says when something came."""

    def __init__(self, store: VisitStore) -> None:
        self._store = store
        self.away = False
        self.came = asyncio.Event()
        self.refused = asyncio.Event()
        self.batches: list[int] = []

    async def append(self, visits: Sequence[Visit]) -> int:
        if self.away:
            self.refused.set()
            raise TransientError("the store is away")
        new = await self._store.append(visits)
        self.batches.append(len(visits))
        self.came.set()
        return new

    async def count(self, link_id: str) -> int:
        return (await self._store.count([link_id])).get(link_id, 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def using(tmp_path: Path) -> Callable[[Callable[[Watched], Awaitable[Any]]], Any]:
    """Runs a piece of work with a store of the test's own."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Watched]:
        async with open_sharing_stores(load_settings({"data": str(tmp_path)}, environ={})) as stores:
            yield Watched(stores.visits)

    def run(work: Callable[[Watched], Awaitable[Any]]) -> Any:
        async def with_store() -> Any:
            async with opened() as store:
                return await work(store)

        return asyncio.run(with_store())

    return run


Using = Callable[[Callable[[Watched], Awaitable[Any]]], Any]


def shipper_in(folder: Path, sink: VisitSink) -> Shipper:
    return Shipper(Spool(folder, most_bytes=10_000_000), sink)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_a_recorded_visit_is_counted_after_the_next_shipment(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        shipper = shipper_in(folder, store)
        for number in range(5):
            shipper.record(visit(number))
        assert await store.count(LINK) == 0
        await shipper.ship()
        await shipper.ship()
        assert (await store.count(LINK), store.batches) == (5, [5])
        await shipper.close()

    using(work)


def test_the_end_ships_the_rest_and_leaves_nothing_behind(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        shipper = shipper_in(folder, store)
        shipper.record(visit(1))
        await shipper.close()
        assert (await store.count(LINK), files(folder)) == (1, [])

    using(work)


def test_what_the_store_does_not_take_at_the_end_the_next_process_ships(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        first = shipper_in(folder, store)
        first.record(visit(1))
        store.away = True
        with capture_logs() as logged:
            await first.close()
        assert [entry["event"] for entry in logged] == ["visits stay in the spool until the next start"]
        assert len(files(folder)) == 1
        store.away = False
        second = shipper_in(folder, store)
        await second.ship()
        assert await store.count(LINK) == 1
        await second.close()
        assert files(folder) == []

    using(work)


def test_a_dead_processs_visits_are_shipped_and_its_file_goes(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        leave_behind(folder, 3)
        shipper = shipper_in(folder, store)
        await shipper.ship()
        assert await store.count(LINK) == 3
        assert len(files(folder)) == 1
        await shipper.close()

    using(work)


def test_two_shippers_do_not_count_a_visit_twice(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        for at in range(4):
            leave_behind(folder, 50, name=f"dead-{at}")
        shippers = [shipper_in(folder, store) for _ in range(2)]
        await asyncio.gather(*(shipper.ship() for shipper in shippers))
        assert (await store.count(LINK), sum(store.batches)) == (50, 200)
        for shipper in shippers:
            await shipper.close()
        assert files(folder) == []

    using(work)


def test_many_shipments_at_once_all_arrive(using: Using) -> None:
    async def work(store: Watched) -> None:
        await asyncio.gather(*(store.append([visit(number)]) for number in range(500)))
        assert await store.count(LINK) == 500

    using(work)


def test_no_cursor_leaves_the_thread_that_made_it(using: Using, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cursor that is freed elsewhere resets a statement that its own thread may be using by then."""
    write, results = SqliteDatabase.write, []

    async def noting(database: SqliteDatabase, work: Work[Any]) -> Any:
        results.append(await write(database, work))
        return results[-1]

    monkeypatch.setattr(SqliteDatabase, "write", noting)

    async def work(store: Watched) -> None:
        await store.append([visit(1)])

    using(work)
    assert results
    assert [result for result in results if isinstance(result, sqlite3.Cursor)] == []


def test_a_shipment_that_was_not_marked_is_shipped_again_and_counts_once(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        leave_behind(folder, 3)
        await store.append([visit(0), visit(1), visit(2)])
        shipper = shipper_in(folder, store)
        await shipper.ship()
        assert (await store.count(LINK), store.batches) == (3, [3, 3])
        await shipper.close()

    using(work)


def test_while_the_store_is_away_visits_stay_and_nothing_is_removed(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        leave_behind(folder, 3)
        shipper = shipper_in(folder, store)
        shipper.record(visit(7))
        store.away = True
        with pytest.raises(TransientError):
            await shipper.ship()
        assert len(files(folder)) == 2
        store.away = False
        await shipper.ship()
        assert await store.count(LINK) == 4
        await shipper.close()

    using(work)


def test_what_dead_processes_left_takes_room_until_it_is_shipped(using: Using, folder: Path) -> None:
    async def work(store: Watched) -> None:
        leave_behind(folder, 20)
        size = (folder / "dead.visits").stat().st_size
        shipper = Shipper(Spool(folder, most_bytes=size + 100), store)
        with capture_logs() as logged:
            for number in range(100, 103):
                shipper.record(visit(number))
        assert [entry["message"] for entry in logged] == ["[Errno 122] the spool is full"]
        await shipper.ship()
        for number in range(103, 106):
            shipper.record(visit(number))
        await shipper.close()
        assert await store.count(LINK) == 20 + 1 + 3

    using(work)


@pytest.mark.parametrize(("most_bytes", "come", "pauses"), [(10_000_000, 2, 1), (10_000_000, 0, 0), (1_200, 2, 0)])
def test_in_a_rush_counting_waits_while_the_spool_has_room(
    using: Using, folder: Path, most_bytes: int, come: int, pauses: int
) -> None:
    paused: list[float] = []

    async def pause(seconds: float) -> None:
        paused.append(seconds)

    async def work(store: Watched) -> None:
        class Rush:
            """While the first batch is counted, `come` times as many come."""

            def __init__(self) -> None:
                self.left = 5 * come

            async def append(self, visits: Sequence[Visit]) -> int:
                while self.left:
                    self.left -= 1
                    shipper.record(visit(100 + self.left))
                return await store.append(visits)

        shipper = Shipper(Spool(folder, most_bytes=most_bytes), Rush(), pause)
        for number in range(5):
            shipper.record(visit(number))
        await shipper.ship()
        assert len(paused) == pauses
        assert await store.count(LINK) == 5 + 5 * come
        await shipper.close()

    using(work)


def test_a_large_backlog_goes_in_batches(using: Using, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "_BATCH_BYTES", 500)

    async def work(store: Watched) -> None:
        leave_behind(folder, 40)
        shipper = shipper_in(folder, store)
        await shipper.ship()
        assert await store.count(LINK) == 40
        assert sum(store.batches) == 40
        assert len(store.batches) > 4
        await shipper.close()

    using(work)


def test_a_large_segment_is_renewed_once_it_is_shipped(
    using: Using, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "_SEGMENT_BYTES", 100)

    async def work(store: Watched) -> None:
        shipper = shipper_in(folder, store)
        before = files(folder)
        for number in range(5):
            shipper.record(visit(number))
        await shipper.ship()
        assert files(folder) != before
        assert [path.stat().st_size for path in files(folder)] == [0]
        shipper.record(visit(5))
        await shipper.close()
        assert await store.count(LINK) == 6

    using(work)


def test_a_running_shipper_ships_what_is_recorded_and_outlives_a_store_that_is_away(
    using: Using, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "_PAUSE_SECONDS", 0)
    monkeypatch.setattr(shipping, "_LOOK_AROUND_SECONDS", 0.01)

    async def work(store: Watched) -> None:
        shipper = shipper_in(folder, store)
        store.away = True
        shipper.record(visit(1))
        running = asyncio.create_task(shipper.run())
        with capture_logs() as logged:
            async with asyncio.timeout(30):
                await store.refused.wait()
            assert {entry["event"] for entry in logged} == {"visits stay in the spool for now"}
            store.away = False
            shipper.record(visit(2))
            async with asyncio.timeout(30):
                await store.came.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await shipper.close()
        assert await store.count(LINK) == 2

    using(work)


def test_a_damaged_segment_does_not_stop_a_running_shipper(
    using: Using, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipping, "_PAUSE_SECONDS", 0)

    async def work(store: Watched) -> None:
        leave_behind(folder, 1)
        dead = folder / "dead.visits"
        dead.write_bytes(b'{"id":"\xff","link_id":"otter","at":"2026-02-21T12:00:00Z"}\n' + dead.read_bytes())
        shipper = shipper_in(folder, store)
        shipper.record(visit(7))
        running = asyncio.create_task(shipper.run())
        with capture_logs():
            await asyncio.wait([running, asyncio.create_task(store.came.wait())], return_when=asyncio.FIRST_COMPLETED)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await shipper.close()
        assert await store.count(LINK) == 2

    using(work)


@pytest.mark.parametrize("bad", [{0}, {39}, {3, 4, 30}, set(range(40)), set()])
def test_visits_that_the_store_refuses_are_found_and_set_aside_and_the_others_count(
    using: Using, folder: Path, bad: set[int]
) -> None:
    async def work(store: Watched) -> None:
        class Picky:
            async def append(self, visits: Sequence[Visit]) -> int:
                if any(visit(number) in visits for number in bad):
                    raise VisitsRefused("no such visits here")
                return await store.append(visits)

        leave_behind(folder, 40)
        shipper = shipper_in(folder, Picky())
        shipped = VISITS_SHIPPED._value.get()
        with capture_logs():
            await shipper.ship()
            await shipper.close()
        assert await store.count(LINK) == sum(store.batches) == VISITS_SHIPPED._value.get() - shipped == 40 - len(bad)
        lines = [line for path in files(folder) for line in path.read_bytes().splitlines()]
        kept = [msgspec.json.decode(line, type=SetAsideLine) for line in lines]
        assert {msgspec.json.decode(each.line, type=Visit).id for each in kept} == {f"visit-{each}" for each in bad}
        assert {each.reason for each in kept} <= {"no such visits here"}

    using(work)


def test_what_was_shipped_is_let_go_of_when_it_looks_around(using: Using, folder: Path) -> None:
    """A quiet server would otherwise keep visits in its spool for days, also those that their owner has erased."""

    async def work(store: Watched) -> None:
        shipper = shipper_in(folder, store)
        shipper.record(visit(0))
        await shipper.ship()
        assert [path.stat().st_size for path in files(folder)] == [0]
        shipper.record(visit(1))
        # Not yet: a new file for each visit would be too many.
        await shipper.ship()
        assert [path.stat().st_size > 0 for path in files(folder)] == [True]
        shipper._next_look_around = 0.0
        await shipper.ship()
        assert [path.stat().st_size for path in files(folder)] == [0]
        await shipper.close()
        assert await store.count(LINK) == 2

    using(work)
