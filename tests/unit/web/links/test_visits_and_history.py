"""What came of a link, over HTTP: visits counted, and visits one by one."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import pytest

from support.asking import assert_problem
from support.link_service import Service, lines_of, link_service
from support.links import a_link
from waypost.kernel.errors import StoreTrouble

pytestmark = pytest.mark.anyio

MORNING = datetime(2026, 3, 28, 9, 30, tzinfo=UTC)
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
BOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@pytest.fixture
async def links(tmp_path: Path) -> AsyncIterator[Service]:
    async with link_service(tmp_path) as opened:
        await opened.stores.links.add(a_link("otter", created_at=MORNING, updated_at=MORNING), "test")
        yield opened


async def visit(links: Service, *moments: datetime, **more: Any) -> None:
    await links.visit("link-00001", *moments, **more)


async def stats(links: Service, query: str = "") -> Any:
    answer = await links.get(f"/v1/links/otter/stats?{query}")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store"), answer.text
    return answer.json()


def hours(*numbers: float) -> list[datetime]:
    return [MORNING + timedelta(hours=number) for number in numbers]


async def test_a_link_that_nobody_followed_has_zeros(links: Service) -> None:
    found = await stats(links)
    assert datetime.fromisoformat(found.pop("from")) == MORNING
    assert found.pop("to") == found.pop("as_of")
    assert found == {
        "phrase": "otter",
        "visits": 0,
        "visitors": 0,
        "bots": 0,
        "series": {"step": "day", "zone": "UTC", "buckets": []},
        **{name: [] for name in ("referrers", "browsers", "devices", "systems", "languages", "countries")},
    }


async def test_visits_are_counted_by_day_and_by_what_is_known_of_them(links: Service) -> None:
    known = {"agent": FIREFOX, "referrer_host": "news.example", "language": "de", "country": "AT"}
    await visit(links, *hours(0, 1), visitor="a", **known)
    await visit(links, *hours(24), visitor="b", **known)
    await visit(links, *hours(25), visitor="")
    await visit(links, *hours(26), visitor="c", agent=BOT)
    found = await stats(links)
    assert (found["visits"], found["visitors"], found["bots"]) == (4, 2, 1)
    assert found["series"]["buckets"] == [
        {"at": "2026-03-28T00:00:00Z", "visits": 2, "bots": 0},
        {"at": "2026-03-29T00:00:00Z", "visits": 2, "bots": 1},
    ]
    assert found["referrers"] == [{"value": "news.example", "visits": 3}, {"value": "", "visits": 1}]
    assert found["browsers"][0] == {"value": "Firefox", "visits": 3}
    assert found["devices"][0] == {"value": "desktop", "visits": 3}
    assert found["systems"][0] == {"value": "Linux", "visits": 3}
    assert found["languages"][0] == {"value": "de", "visits": 3}
    assert found["countries"][0] == {"value": "AT", "visits": 3}


async def test_a_span_ends_just_before_its_end_and_as_of_includes_its_moment(links: Service) -> None:
    await visit(links, *hours(0, 1, 2, 3))
    one, two = (quote(moment.isoformat()) for moment in hours(1, 2))
    assert (await stats(links, f"from={one}&to={two}"))["visits"] == 1
    assert (await stats(links, f"as_of={two}"))["visits"] == 3
    assert (await stats(links, f"as_of={one}&to={two}"))["visits"] == 2
    assert (await stats(links, f"from={two}&as_of={one}"))["visits"] == 0


async def test_a_plus_that_was_not_quoted_is_still_an_offset(links: Service) -> None:
    await visit(links, *hours(0, 1))
    assert (await stats(links, "from=2026-03-28T11:00:00+01:00"))["visits"] == 1


async def test_hours_are_those_of_utc_in_any_zone(links: Service) -> None:
    await visit(links, *hours(0, 0.25, 5))
    found = (await stats(links, "step=hour&zone=Europe/Berlin"))["series"]
    assert (found["step"], found["zone"]) == ("hour", "Europe/Berlin")
    assert [(bucket["at"], bucket["visits"]) for bucket in found["buckets"]] == [
        ("2026-03-28T10:00:00+01:00", 2),
        ("2026-03-28T15:00:00+01:00", 1),
    ]


async def test_days_begin_at_midnight_of_the_zone_also_when_clocks_change(links: Service) -> None:
    # Berlin goes to summer time on the 29th at 01:00 UTC: that day has 23 hours, from 23:00 UTC to 22:00 UTC.
    moments = ("28T22:59", "28T23:00", "29T21:59", "29T22:00")
    await visit(links, *(datetime.fromisoformat(f"2026-03-{moment}:00Z") for moment in moments))
    found = (await stats(links, "zone=Europe/Berlin"))["series"]["buckets"]
    assert [(bucket["at"], bucket["visits"]) for bucket in found] == [
        ("2026-03-28T00:00:00+01:00", 1),
        ("2026-03-29T00:00:00+01:00", 2),
        ("2026-03-30T00:00:00+02:00", 1),
    ]


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "Australia/Lord_Howe", "Asia/Kathmandu"])
async def test_a_zone_that_is_not_whole_hours_from_utc_is_refused(links: Service, zone: str) -> None:
    await visit(links, datetime(2026, 7, 1, tzinfo=UTC))
    answer = await links.get(f"/v1/links/otter/stats?zone={zone}")
    assert assert_problem(answer, 400, "zone-refused")["parameter"] == "zone"


async def test_a_series_by_the_hour_has_its_bound(links: Service) -> None:
    await links.stores.links.add(a_link("ancient", 7, created_at=datetime(1961, 4, 12, tzinfo=UTC)), "test")
    answer = await links.get("/v1/links/ancient/stats?step=hour")
    assert assert_problem(answer, 400, "span-too-long")["parameter"] == "from"
    assert (await links.get("/v1/links/ancient/stats?step=hour&from=2025-01-01&to=2026-01-01")).json()["visits"] == 0


@pytest.mark.parametrize("query", ["", "zone=Europe/Berlin", "to=2900-01-01"])
async def test_days_are_counted_however_old_a_link_is(links: Service, query: str) -> None:
    await links.stores.links.add(a_link("ancient", 7, created_at=datetime(1961, 4, 12, tzinfo=UTC)), "test")
    assert (await links.get(f"/v1/links/ancient/stats?{query}")).status_code == 200


async def test_only_so_many_values_are_returned(links: Service) -> None:
    for number in range(5):
        await visit(links, *hours(number), referrer_host=f"{number}.example")
    assert len((await stats(links, "limit=2"))["referrers"]) == 2


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("step=week", "step"),
        ("zone=Nowhere/Else", "zone"),
        ("zone=../../etc/passwd", "zone"),
        ("zone=/etc/localtime", "zone"),
        ("zone=", "zone"),
        ("zone=Europe", "zone"),
        ("zone=" + "x" * 65, "zone"),
        ("limit=101", "limit"),
        ("as_of=now", "as_of"),
        ("from=2026-02-22&to=2026-02-21", "from"),
        ("from=9999-12-31T23:59:59Z", "from"),
        ("colour=red", "colour"),
    ],
)
async def test_what_cannot_be_understood_is_refused_by_its_name(links: Service, query: str, parameter: str) -> None:
    document = assert_problem(await links.get(f"/v1/links/otter/stats?{query}"), 400, "bad-parameter")
    assert document["parameter"] == parameter


async def test_visits_are_told_one_by_one_oldest_first(links: Service) -> None:
    await visit(
        links, *hours(2, 0, 1), visitor="a", agent=FIREFOX, referrer_host="news.example", referrer_path="/front"
    )
    answer = await links.get("/v1/links/otter/visits")
    assert (answer.headers["content-type"], answer.headers["cache-control"]) == ("application/x-ndjson", "no-store")
    first, *rest = lines_of(answer)
    assert [datetime.fromisoformat(each["at"]) for each in (first, *rest)] == hours(0, 1, 2)
    assert {name: value for name, value in first.items() if name not in {"id", "at"}} == {
        "visitor": "a",
        "referrer_host": "news.example",
        "referrer_path": "/front",
        "agent": FIREFOX,
        "language": "",
        "country": "",
    }


async def test_visits_of_a_span_alone_are_told(links: Service) -> None:
    await visit(links, *hours(*range(6)))
    start, end = (quote(moment.isoformat()) for moment in hours(2, 4))
    assert len(lines_of(await links.get(f"/v1/links/otter/visits?from={start}&to={end}"))) == 2


async def test_visits_that_cannot_be_read_are_a_problem_and_not_an_answer_that_breaks_off(
    links: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> NoReturn:
        raise StoreTrouble("it is away")

    monkeypatch.setattr(links.stores.visits, "events", away)
    assert_problem(await links.get("/v1/links/otter/visits"), 503, "store-trouble")


async def test_many_visits_are_streamed_without_a_gap(links: Service) -> None:
    await visit(links, *hours(*(number / 100 for number in range(2500))))
    ids = [each["id"] for each in lines_of(await links.get("/v1/links/otter/visits"))]
    assert len(set(ids)) == len(ids) == 2500


@pytest.mark.parametrize("path", ["stats", "visits", "history"])
async def test_of_a_link_that_is_not_there_nothing_is_told(links: Service, path: str) -> None:
    assert_problem(await links.get(f"/v1/links/badger/{path}"), 404, "unknown-link")


async def test_everything_that_is_kept_comes_line_by_line_for_whoever_may_read_the_link(links: Service) -> None:
    author, other, admin = await links.key(), await links.key(), await links.key("admin")
    link = await links.make(phrase="summer-party", key=author)
    await links.visit(link["id"], datetime(2026, 2, 21, 12, tzinfo=UTC), agent="curl/8.0.1")
    await links.ask("POST", "/-/report", data={"phrase": "summer-party", "text": "bad"})
    path = "/v1/links/summer-party/everything"
    kinds = [line["kind"] for line in lines_of(await links.get(path, key=author))]
    assert kinds[:4] == ["link", "edit", "event", "visit"]
    assert set(kinds[4:]) == {"count"}
    assert "report" in [line["kind"] for line in lines_of(await links.get(path, key=admin))]
    assert_problem(await links.get(path, key=other), 404, "unknown-link")
    assert_problem(await links.get(f"{path}?from=2026-01-01", key=author), 400, "bad-parameter")
    await links.ask("DELETE", "/v1/links/summer-party", key=author)
    deleted = lines_of(await links.get(path, key=author))
    assert (deleted[0]["data"]["deleted"], [line["kind"] for line in deleted].count("edit")) == (True, 2)
