"""On every store: a line of the spool that cannot be counted is set aside once, and all others count once."""

import itertools
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from support.job_store_postgres import clean_database
from support.stores import LINK_BACKENDS, open_backend
from support.visits import CHROME, NOON
from waypost.bootstrap.schema import migrate_schema
from waypost.bootstrap.stores import open_sharing_stores
from waypost.kernel.errors import TransientError
from waypost.settings import load_settings
from waypost.sharing.visits import shipper as shipping
from waypost.sharing.visits.shipper import Shipper
from waypost.sharing.visits.spool import Segment, Spool
from waypost.sharing.visits.store import Span, VisitStore
from waypost.sharing.visits.visit import Visit

pytestmark = pytest.mark.anyio

_examples = itertools.count()


def good(number: int, **more: Any) -> bytes:
    return msgspec.json.encode(Visit(f"visit-{number}", "link-1", NOON, "ann", agent=CHROME, **more))


def at(time: str) -> bytes:
    return good(7).replace(b"2026-02-21T12:00:00Z", time.encode())


BAD = {
    "a time without an offset": at("2026-02-21T12:00:00"),
    "the year 0": at("0000-02-21T12:00:00Z"),
    "the year 10000": at("10000-02-21T12:00:00Z"),
    "before the first day of the calendar": at("0001-01-01T00:00:00+14:00"),
    "after its last": at("9999-12-31T23:59:59-14:00"),
    "before 1970": at("1969-12-31T23:59:59Z"),
    "not a time": at("never"),
    "a NUL in the id": good(7).replace(b"visit-7", rb"visit\u0000-7"),
    "a NUL in the link": good(7).replace(b"link-1", rb"link\u0000-1"),
    "a NUL in the visitor": good(7).replace(b"ann", rb"a\u0000nn"),
    "a NUL in the agent": good(7).replace(b"Chrome", rb"Chrome\u0000"),
    "a NUL in the referrer": good(7, referrer_host="a\0.example"),
    "a NUL in the language": good(7, language="d\0"),
    "a NUL in the country": good(7, country="D\0"),
    "not JSON": b"garbage",
    "nothing": b"",
    "not an object": b"[]",
    "only half, and the next one": good(7)[:30] + good(8),
    "the end of a line": good(7)[10:],
    "blocks that were never written": b"\0" * 4096,
    "not UTF-8": good(7).replace(b"ann", b"a\xffn"),
    "too deep": good(7)[:-1] + b',"more":' + b"[" * 100_000,
    "huge": good(7, referrer_path="/" * 400_000),
    "huge and not JSON": b"x" * 1_000_000,
}
# An index of PostgreSQL takes no longer values.
_LONG = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
REFUSED_BY_POSTGRES = good(7, referrer_host=_LONG)


class Killed(BaseException):
    """Not an exception that anything here handles."""


class Mortal:
    """A store's shipper that is killed at a certain step; steps are what lasts beyond a kill."""

    def __init__(self, store: VisitStore, steps: int) -> None:
        self._store, self._steps = store, steps

    def step(self) -> None:
        self._steps -= 1
        if self._steps == 0:
            raise Killed

    async def append(self, visits: Sequence[Visit]) -> int:
        self.step()
        new = await self._store.append(visits)
        self.step()
        return new


@pytest.fixture(params=[*LINK_BACKENDS, "analytics-sqlite", "analytics-postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VisitStore]:
    if request.param in LINK_BACKENDS:
        async with open_backend(request.param, tmp_path) as backend:
            yield backend.sharing.visits
        return
    async with clean_database(migrated=False) as url:
        elsewhere = f"sqlite:///{tmp_path / 'analytics.db'}" if request.param == "analytics-sqlite" else url
        chosen = load_settings({"data": str(tmp_path), "analytics": elsewhere}, environ={})
        await migrate_schema(chosen)
        async with open_sharing_stores(chosen) as stores:
            yield stores.visits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "spool"
    made.mkdir()
    return made


def leave_behind(folder: Path, lines: Sequence[bytes], name: str = "dead") -> None:
    (folder / f"{name}.visits").write_bytes(b"".join(line + b"\n" for line in lines))


def set_aside(folder: Path) -> list[dict[str, Any]]:
    paths = sorted(folder.glob("*.set-aside.ndjson"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def counted(store: VisitStore, link: str = "link-1") -> list[str]:
    ids = [each.id async for batch in store.events(link, Span()) for each in batch]
    assert (await store.count([link])).get(link, 0) == len(ids)
    return sorted(ids)


async def ship_and_close(folder: Path, store: VisitStore) -> None:
    shipper = Shipper(Spool(folder, most_bytes=100_000_000), store)
    await shipper.ship()
    await shipper.close()


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_a_line_that_cannot_be_counted_is_set_aside_and_all_others_count(
    store: VisitStore, folder: Path, bad: bytes
) -> None:
    leave_behind(folder, [good(1), bad, good(2)])
    shipper = Shipper(Spool(folder, most_bytes=100_000_000), store)
    shipper.record(msgspec.json.decode(good(3), type=Visit))
    with capture_logs() as logged:
        await shipper.ship()
        await shipper.ship()
        await shipper.close()
    assert await counted(store) == ["visit-1", "visit-2", "visit-3"]
    (kept,) = set_aside(folder)
    assert kept["line"].encode() == bad.decode(errors="backslashreplace").encode()[: 64 * 1024]
    assert kept["reason"]
    assert names(folder) == ["dead.set-aside.ndjson"]
    assert [entry["event"] for entry in logged] == ["lines of the spool cannot be counted and are set aside"]
    assert await store.rebuild(lambda _: None) == 3


async def test_what_the_store_alone_refuses_is_found_among_many(store: VisitStore, folder: Path) -> None:
    lines = [good(number) for number in range(100, 150)]
    lines[20:20] = [REFUSED_BY_POSTGRES]
    leave_behind(folder, lines)
    with capture_logs():
        await ship_and_close(folder, store)
    refused = ["visit-7"] if "Postgres" in type(store).__name__ else []
    assert [json.loads(kept["line"])["id"] for kept in set_aside(folder)] == refused
    assert set(await counted(store)) == {"visit-7", *(f"visit-{number}" for number in range(100, 150))} - set(refused)


async def test_nothing_is_set_aside_for_a_store_that_is_away(store: VisitStore, folder: Path) -> None:
    class Away:
        async def append(self, _visits: Sequence[Visit]) -> int:
            raise TransientError("the store is away")

    leave_behind(folder, [good(1), good(2)])
    shipper = Shipper(Spool(folder, most_bytes=100_000_000), Away())
    for _ in range(3):
        with pytest.raises(TransientError):
            await shipper.ship()
    assert set_aside(folder) == []
    await shipper.close()
    await ship_and_close(folder, store)
    assert await counted(store) == ["visit-1", "visit-2"]


# Any mixture of lines, and a kill at any moment

_SMALL = [line for line in BAD.values() if len(line) < 5000]
_LINES = st.lists(st.none() | st.sampled_from([*_SMALL, REFUSED_BY_POSTGRES]), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(segments=st.lists(_LINES, min_size=1, max_size=3), kills=st.lists(st.integers(1, 12), max_size=3))
@example(segments=[[None, _SMALL[0], None, REFUSED_BY_POSTGRES]], kills=[1, 2, 3, 4, 5, 6, 7])
async def test_every_good_line_counts_once_and_every_bad_one_is_set_aside_once_whenever_it_is_killed(
    store: VisitStore, folder: Path, segments: list[list[bytes | None]], kills: list[int]
) -> None:
    case, numbers = next(_examples), itertools.count()
    folder = folder / str(case)
    folder.mkdir()
    link, wanted, bad = f"link-{case}", [], []
    for name, lines in enumerate(segments):
        written = []
        for line in lines:
            visit = f"{case}-{next(numbers)}"
            refused = line is not None and (line is not REFUSED_BY_POSTGRES or "Postgres" in type(store).__name__)
            text = (
                (good(7) if line is None else line)
                .replace(b"visit-7", visit.encode())
                .replace(b"link-1", link.encode())
            )
            written.append(text)
            if refused:
                bad.append(text.decode(errors="backslashreplace"))
            else:
                wanted.append(visit)
        leave_behind(folder, written, f"dead-{name}")
    with pytest.MonkeyPatch.context() as patch, capture_logs():
        patch.setattr(shipping, "_BATCH_BYTES", 30_000)
        mark_shipped = Segment.mark_shipped
        for steps in kills:
            mortal = Mortal(store, steps)

            def mark(segment: Segment, batch: Any, mortal: Mortal = mortal) -> None:
                mortal.step()
                mark_shipped(segment, batch)

            patch.setattr(Segment, "mark_shipped", mark)
            spool = Spool(folder, most_bytes=100_000_000)
            with suppress(Killed):
                await Shipper(spool, mortal).ship()
            spool.own.leave()
        patch.setattr(Segment, "mark_shipped", mark_shipped)
        await ship_and_close(folder, store)
    assert await counted(store, link) == sorted(wanted)
    assert sorted(kept["line"] for kept in set_aside(folder)) == sorted(bad)
    assert list(folder.glob("*.visits")) == []
