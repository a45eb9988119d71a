"""Erasing what has happened to a link: nothing of it is left in any file or table, and nothing late brings it back."""

import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from support.links import a_link
from support.stores import LINK_BACKENDS, Backend, open_backend
from support.visits import CHROME, PROJECTIONS, ask, projections, visit
from waypost.bootstrap.sharing import make_eraser
from waypost.kernel.clock import utc_now
from waypost.sharing.links import editing
from waypost.sharing.links.erasing import ReportsOpen
from waypost.sharing.links.link import Changes, Link
from waypost.sharing.links.rights import DisabledByAdmin
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.reports.report import new_report
from waypost.sharing.visits.set_aside import SetAsideFile, SetAsideLine
from waypost.sharing.visits.shipper import Shipper
from waypost.sharing.visits.spool import Segment, Spool
from waypost.sharing.visits.store import Counted, Span
from waypost.sharing.visits.visit import Visit

pytestmark = pytest.mark.anyio

# Nothing else has it in it; of both, only the first is erased.
MARKER, KEPT = "xyzzy-plugh", "plover-kept"
MONTH = timedelta(days=30)
RULES = TargetRules()


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


def visits_of(link: Link, marker: str, start: int, count: int = 300) -> list[Visit]:
    told = {"visitor": f"{marker}-v", "referrer_host": f"{marker}.example", "referrer_path": f"/{marker}"}
    told |= {"agent": f"{marker} {CHROME}", "language": f"{marker}"}
    return [
        visit(start + number, link.id, utc_now() - MONTH + timedelta(hours=number), **told) for number in range(count)
    ]


async def eventful(backend: Backend, number: int, marker: str) -> Link:
    """A link whose past is full of the marker, though its present is not."""
    links = backend.sharing.links
    link = a_link(f"otter-{number}", number, title=marker, target=f"https://{marker}.example", tags=(marker,))
    await links.add(link, f"key:{marker}")
    plain = Changes(title="", target="https://example.org", tags=())
    changed = await editing.edit(links, RULES, link, plain, f"key:{marker}")
    await backend.sharing.visits.append(visits_of(link, marker, 1000 * number))
    return changed


async def found_in(backend: Backend, marker: str) -> list[str]:
    """Where the marker stands: the files of this machine, byte by byte; and each table of a server."""
    folder = backend.settings.storage.folder
    found = [path.name for path in folder.rglob("*") if path.is_file() and marker.encode() in path.read_bytes()]
    if backend.settings.storage.on_server:
        server = await asyncpg.connect(backend.settings.storage.store_url)
        try:
            tables = await server.fetch("select tablename from pg_tables where schemaname = 'public'")
            for (table,) in tables:
                sql = f"select count(*) from {table} as whole where whole::text like '%{marker}%'"
                found += [table] if await server.fetchval(sql) else []
        finally:
            await server.close()
    return found


async def erase(backend: Backend, link: Link, *, is_admin: bool = True) -> object:
    return await make_eraser(backend.settings, backend.sharing).erase(link, is_admin=is_admin)


async def test_nothing_is_left_of_it_in_any_file_or_table(backend: Backend) -> None:
    link, other = await eventful(backend, 1, MARKER), await eventful(backend, 2, KEPT)
    spool = backend.settings.spool
    spool.mkdir()
    segment = Segment.create(spool)
    lines = [msgspec.json.encode(each) + b"\n" for each in visits_of(link, MARKER, 5000, 3)]
    beside = msgspec.json.encode(visits_of(other, KEPT, 6000, 1)[0]) + b"\n"
    for line in (lines[0], beside, *lines[1:]):
        segment.append(line)
    SetAsideFile(spool / "x.visits").add([SetAsideLine(0, "why", lines[0].decode()), SetAsideLine(9, "why", KEPT)])
    segment.leave()
    assert await found_in(backend, MARKER)
    erased = await erase(backend, link)
    assert await found_in(backend, MARKER) == []
    assert msgspec.to_builtins(erased) | {"erased_at": ""} == {
        "phrase": "otter-1",
        "erased_at": "",
        "visits": 300,
        "edits": 2,
        "events": 2,
        "overwritten": not backend.settings.storage.on_server,
        "spools_held": 0,
    }
    assert len(await found_in(backend, KEPT)) >= 3
    # What is left in the spool can be shipped, and counts nothing of the erased link.
    shipper = Shipper(Spool(spool, most_bytes=10**6), backend.sharing.visits)
    await shipper.ship()
    assert await backend.sharing.visits.count([link.id, other.id]) == {other.id: 301}
    await shipper.close()
    assert [path.name for path in spool.iterdir()] == ["x.set-aside.ndjson"]


async def test_visits_that_come_late_do_not_bring_back_what_was_erased(backend: Backend) -> None:
    link, store = await eventful(backend, 1, MARKER), backend.sharing.visits
    late = visits_of(link, MARKER, 7000, 3)
    await erase(backend, link)
    empty = await projections(backend)
    assert await store.append([*late, *visits_of(link, MARKER, 1000, 3)]) == 0
    assert await projections(backend) == empty
    new = [msgspec.structs.replace(late[0], id=f"new-{n}", at=utc_now()) for n in range(2)]
    assert await store.append([*late, *new]) == 2
    assert await store.totals(link.id, Span()) == Counted(2, 1, 0)
    await store.rebuild(lambda _: None)
    assert await store.totals(link.id, Span()) == Counted(2, 1, 0)


async def test_visits_that_come_while_it_is_erased_are_counted(backend: Backend) -> None:
    link, store = await eventful(backend, 1, MARKER), backend.sharing.visits
    until = utc_now()
    after = [visit(9000 + n, link.id, until + timedelta(seconds=n + 1), visitor="ann") for n in range(3)]
    await store.append(after)
    await store.erase(link.id, until)
    assert [each async for batch in store.events(link.id, Span()) for each in batch] == after
    assert await store.totals(link.id, Span()) == Counted(3, 1, 0)
    counted = await projections(backend)
    await store.rebuild(lambda _: None)
    assert await projections(backend) == counted


async def test_other_links_and_the_link_itself_stay_as_they_are(backend: Backend) -> None:
    link, other = await eventful(backend, 1, MARKER), await eventful(backend, 2, KEPT)
    stores = backend.sharing
    await stores.links.count_up(link.id, 5)
    before = {
        table: [row for row in rows if row[0] == other.id] for table, rows in (await projections(backend)).items()
    }
    await erase(backend, link)
    for table in PROJECTIONS:
        assert [row for row in (await projections(backend))[table] if row[0] == other.id] == before[table]
    assert len(await stores.links.history(other.id)) == 2
    now = await stores.links.get(link.id)
    assert now
    assert msgspec.structs.replace(now, version=link.version, updated_at=link.updated_at) == link
    assert await stores.links.taken(link.id) == 1
    [edit] = await stores.links.history(link.id)
    assert (edit.version, edit.by, edit.before, edit.after) == (3, "anonymous", None, now)
    assert [event.name for event in await stores.links.events(link.id)] == ["link.erased.v1"]
    again = await editing.edit(stores.links, RULES, now, Changes(title="Otters"), "local")
    assert again.version == 4


@pytest.mark.parametrize(("owner", "name"), [(None, "anonymous"), ("local", "local"), ("0f", "key:0f")])
async def test_the_line_of_history_that_stays_names_the_author(backend: Backend, owner: str | None, name: str) -> None:
    links, link = backend.sharing.links, a_link("otter", 1, owner=owner)
    await links.add(link, name)
    await erase(backend, link)
    assert [edit.by for edit in await links.history(link.id)] == [name]


async def test_erasing_does_not_undo_what_an_administrator_disabled(backend: Backend) -> None:
    link, links = await eventful(backend, 1, MARKER), backend.sharing.links
    disabled = await editing.edit(links, RULES, link, Changes(disabled=True), "key:admin", is_admin=True)
    await erase(backend, disabled, is_admin=False)
    now = await links.get(link.id)
    assert now
    with pytest.raises(DisabledByAdmin):
        await editing.edit(links, RULES, now, Changes(disabled=False), "anonymous")
    assert "admin" not in str([edit.by for edit in await links.history(link.id)]).replace("administrator", "")


async def test_what_its_author_disabled_they_can_enable_after_an_administrator_erased_it(backend: Backend) -> None:
    link, links = await eventful(backend, 1, MARKER), backend.sharing.links
    disabled = await editing.edit(links, RULES, link, Changes(disabled=True), "anonymous")
    # By its author alone: its earlier edits were by a key of another name.
    await ask(backend, f"delete from link_edits where version < 3 and link_id = '{link.id}'")
    await erase(backend, disabled)
    now = await links.get(link.id)
    assert now
    assert not (await editing.edit(links, RULES, now, Changes(disabled=False), "anonymous")).disabled


async def test_a_deleted_link_keeps_its_phrase_alone(backend: Backend) -> None:
    links = backend.sharing.links
    link = a_link("otter", title=MARKER, target=f"https://{MARKER}.example", tags=(MARKER,), password=MARKER)
    await links.add(link, "anonymous")
    deleted = await editing.delete(links, link, "anonymous")
    await erase(backend, deleted, is_admin=False)
    assert await found_in(backend, MARKER) == []
    now = await links.find("otter")
    assert now
    assert now.deleted


async def test_its_author_cannot_erase_what_others_have_reported(backend: Backend) -> None:
    link = await eventful(backend, 1, MARKER)
    await backend.sharing.reports.add(new_report(link, "bad", utc_now()))
    with pytest.raises(ReportsOpen):
        await erase(backend, link, is_admin=False)
    assert await backend.sharing.visits.count([link.id]) == {link.id: 300}
    await erase(backend, link)
    assert await backend.sharing.visits.count([link.id]) == {}


async def test_without_a_reader_in_its_way_the_log_of_sqlite_is_let_go(tmp_path: Path) -> None:
    async with open_backend("sqlite", tmp_path) as backend:
        link = await eventful(backend, 1, MARKER)
        reader = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
        reader.execute("begin")
        reader.execute("select count(*) from visits").fetchone()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("waypost.adapters.sqlite.database._BUSY_SECONDS", 0.1)
            held = await make_eraser(backend.settings, backend.sharing).erase(link, is_admin=True)
        assert not held.overwritten
        reader.execute("rollback")
        reader.close()
        assert (await make_eraser(backend.settings, backend.sharing).erase(link, is_admin=True)).overwritten
        assert await found_in(backend, MARKER) == []
