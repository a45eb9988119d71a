"""All that is kept about a link, from every store of links and visits."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from support.links import NOON, a_link
from support.stores import LINK_BACKENDS, Backend, open_backend
from support.visits import CHROME, GOOGLEBOT, PROJECTIONS, ask, visit
from waypost.adapters import visit_rows
from waypost.sharing.links.everything import everything
from waypost.sharing.links.link import Link
from waypost.sharing.reports.report import new_report
from waypost.sharing.visits.store import KeptCount

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


async def busy_link(backend: Backend) -> Link:
    """A link with something of every kind, and another one that has as much."""
    stores = backend.sharing
    for number in (1, 2):
        link = a_link(f"otter-{number}", number)
        await stores.links.add(link, "key:author")
        edited = msgspec.structs.replace(link, version=2, title="Otters", updated_at=NOON)
        await stores.links.edit(edited, "local")
        await stores.links.count_up(link.id, 5)
        await stores.reports.add(new_report(link, "bad", NOON))
        seen = [
            visit(10 * number + each, link.id, NOON + timedelta(hours=each), visitor="ann", agent=agent, language="pl")
            for each, agent in enumerate((CHROME, CHROME, GOOGLEBOT))
        ]
        await stores.visits.append(seen)
    found = await stores.links.get("link-00001")
    assert found
    return found


async def test_there_is_a_line_for_every_row_and_none_of_another_link(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So few that every table takes several batches.
    for module in ("waypost.adapters.sqlite.visits", "waypost.adapters.postgres.visits"):
        monkeypatch.setattr(f"{module}.EVENTS_AT_A_TIME", 2)
    link, stores = await busy_link(backend), backend.sharing
    parts = [part async for part in everything(link, "https://go.example", stores.links, stores.visits, stores.reports)]
    lines = [msgspec.json.decode(line) for line in b"".join(parts).splitlines()]
    [(rows,)] = await ask(
        backend,
        "select " + " + ".join(f"(select count(*) from {table} where link_id = '{link.id}')" for table in PROJECTIONS),
    )
    wanted = {"link": 1, "edit": 2, "event": 2, "report": 1, "visit": 3, "count": rows}
    assert Counter(line["kind"] for line in lines) == wanted
    assert lines[0]["data"]["link"]["title"] == "Otters"
    assert lines[0]["data"]["taken"] == 1
    assert "otter-2" not in b"".join(parts).decode()
    without = [part async for part in everything(link, "", stores.links, stores.visits, None)]
    assert b'"kind":"report"' not in b"".join(without)


async def test_counts_say_what_was_counted_and_when(backend: Backend) -> None:
    link = await busy_link(backend)
    counts = [each async for batch in backend.sharing.visits.counts(link.id) for each in batch]
    hour = timedelta(hours=1)
    day = NOON.replace(hour=0)
    assert counts[0] == KeptCount(of="all", visits=2, visitors=1, bots=1)
    assert KeptCount(of="day", at=day, visits=2, visitors=1, bots=1) in counts
    assert KeptCount(of="hour", at=NOON + 2 * hour, bots=1) in counts
    assert KeptCount(of="value", at=day, hours=24, dimension="language", value="pl", visits=2) in counts
    assert KeptCount(of="visitor", at=day, visitor="ann", seen=(12, 13)) in counts
    assert KeptCount(of="arrivals", at=NOON + hour, last_here=NOON, visitors=1) in counts
    assert {f"visit_{name}" for name in ("days", "hours", "values", "visitors", "arrivals")} == set(visit_rows.COUNTED)
    assert [each async for batch in backend.sharing.visits.counts("nobody") for each in batch] == []
