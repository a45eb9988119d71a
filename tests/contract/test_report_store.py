"""What every store of abuse reports does."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from support.links import NOON, a_link
from support.stores import LINK_BACKENDS, Backend, open_backend
from waypost.adapters.postgres import reports as postgres_reports
from waypost.adapters.sqlite import reports as sqlite_reports
from waypost.sharing.links.link import Link
from waypost.sharing.reports.operations import all_reports, close_report, show_report
from waypost.sharing.reports.report import AbuseReport, UnknownReport, new_report
from waypost.sharing.reports.store import WantedReports

pytestmark = pytest.mark.anyio
ALL = WantedReports()


@pytest.fixture(params=LINK_BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_backend(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
async def links(backend: Backend) -> list[Link]:
    links = [a_link("gently-golden-otter"), a_link("wildly-silver-heron", 2)]
    for link in links:
        await backend.sharing.links.add(link, "test")
    return links


async def reported(backend: Backend, link: Link, *texts: str) -> list[AbuseReport]:
    made = [new_report(link, text, NOON + timedelta(minutes=number)) for number, text in enumerate(texts)]
    for report in made:
        await backend.sharing.reports.add(report)
    return made


async def test_reports_come_back_as_they_were_kept_oldest_first(backend: Backend, links: list[Link]) -> None:
    store = backend.sharing.reports
    made = await reported(backend, links[0], "bad", "worse \N{OTTER}")
    made += await reported(backend, links[1], "worst")
    assert await store.get(made[0].id) == made[0]
    assert await store.get("nobody") is None
    assert await store.page(ALL, "", 10) == made
    assert await store.page(ALL, made[0].id, 1) == [made[1]]
    assert await store.page(WantedReports(link_id=links[1].id), "", 10) == [made[2]]
    assert [batch async for batch in all_reports(store, ALL)] == [made]
    assert await store.count_open() == 3


async def test_a_report_is_closed_once(backend: Backend, links: list[Link]) -> None:
    store = backend.sharing.reports
    first, second = await reported(backend, links[0], "bad", "worse")
    assert await store.close(links[0].id, first.id, "dismissed", NOON, "local") == 1
    assert await store.close(links[0].id, first.id, "disabled", NOON + timedelta(days=1), "key:1") == 0
    closed = msgspec.structs.replace(first, closed_at=NOON, closed_by="local", outcome="dismissed")
    assert await store.page(WantedReports(status="closed"), "", 10) == [closed]
    assert await store.page(WantedReports(status="open"), "", 10) == [second]
    assert await store.count_open() == 1


async def test_disabling_a_link_answers_all_its_reports(backend: Backend, links: list[Link]) -> None:
    stores = backend.sharing
    first, second = await reported(backend, links[0], "bad", "worse")
    [other] = await reported(backend, links[1], "a different one")
    closed = await close_report(stores.reports, stores.links, first.id, "key:admin", disable=True)
    assert (closed.disabled, closed.outcome, closed.closed_by) == (True, "disabled", "key:admin")
    assert (await show_report(stores.reports, second.id)).outcome == "disabled"
    assert (await show_report(stores.reports, other.id)).closed_at is None
    link = await stores.links.get(links[0].id)
    assert link
    assert link.disabled
    with pytest.raises(UnknownReport):
        await close_report(stores.reports, stores.links, "nobody", "local", disable=True)


async def test_a_link_has_only_so_many_open_reports(
    backend: Backend, links: list[Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    _bound(monkeypatch, "MOST_OPEN_OF_LINK", 2)
    store = backend.sharing.reports
    first, *_ = await reported(backend, links[0], "one", "two", "three")
    await reported(backend, links[1], "a different one")
    assert [each.text for each in await store.page(ALL, "", 10)] == ["one", "two", "a different one"]
    await store.close(links[0].id, first.id, "dismissed", NOON, "local")
    assert await store.add(new_report(links[0], "four", NOON))


async def test_of_all_reports_the_oldest_closed_one_makes_room(
    backend: Backend, links: list[Link], monkeypatch: pytest.MonkeyPatch
) -> None:
    _bound(monkeypatch, "MOST_REPORTS", 3)
    store = backend.sharing.reports
    first, *_ = await reported(backend, links[0], "one", "two", "three")
    assert not await store.add(new_report(links[1], "four", NOON))
    await store.close(links[0].id, first.id, "dismissed", NOON, "local")
    assert await store.add(new_report(links[1], "five", NOON))
    assert [each.text for each in await store.page(ALL, "", 10)] == ["two", "three", "five"]


def _bound(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    for adapter in (sqlite_reports, postgres_reports):
        monkeypatch.setattr(adapter, name, most)
