"""What Open Charge Map is asked for each kind of shard, and what of its answer is taken."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import pytest

from waypost.adapters.sources.http import ProviderAnswer
from waypost.adapters.sources.ocm.source import OcmSource
from waypost.importing.geography import Box
from waypost.importing.plan import UnsupportedScope
from waypost.importing.settings import ImportingSettings, OcmSettings
from waypost.importing.source import Page, Scope
from waypost.kernel.configuration import Secret
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

HOUR = "ocm/country:DE/window:2026-02-21T10:00:00Z..2026-02-21T11:00:00Z"
FULL = "ocm/country:DE/full:2026-02-21"


def record(number: int, modified: str | None = None, **more: Any) -> dict[str, Any]:
    where = {"Title": f"Place {number}", "Latitude": 50.0, "Longitude": 10.0, "Country": {"ISOCode": "DE"}}
    return {"ID": number, "AddressInfo": where, "DateLastStatusUpdate": modified} | more


class Told(OcmSource):
    """The source, with a provider that has these records, pages of two, and a memory of what it was asked."""

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        super().__init__(OcmSettings("http://told", Secret(""), ""), ImportingSettings(2, 1, 1, 100, 0.2, 0.2))
        self.records = records
        self.asked: list[dict[str, str]] = []
        self._client.get = self.answer  # type: ignore[method-assign, assignment] # stands in for the network

    async def answer(self, path: str, params: dict[str, str]) -> ProviderAnswer:
        self.asked.append(params)
        since = params.get("modifiedsince", "")
        above = [
            each
            for each in self.records
            if each["ID"] > int(params["greaterthanid"]) and (each["DateLastStatusUpdate"] or "") >= since
        ]
        return ProviderAnswer(json.dumps(above[: int(params["maxresults"])]).encode())

    async def walk(self, shard: str) -> list[Page]:
        pages: list[Page] = []
        while not pages or not pages[-1].last:
            pages.append(await self.fetch(ShardKey.parse(shard), pages[-1].cursor if pages else None))
        await self.close()
        return pages


def walk(shard: str, *records: dict[str, Any]) -> tuple[list[list[int]], Told, list[Page]]:
    """The ids of each page, the provider, and the pages."""
    told = Told(records)
    pages = asyncio.run(told.walk(shard))
    numbers = [[int(fetched.place.external_id.removeprefix("ocm:")) for fetched in page.fetched] for page in pages]
    return numbers, told, pages


def test_a_window_asks_from_a_little_before_its_start_in_order_of_ids_and_is_cut_at_its_end_here() -> None:
    taken, told, _ = walk(
        HOUR,
        record(1, "2026-02-21T09:49:00Z"),
        record(2, "2026-02-21T09:50:00Z"),
        record(3, "2026-02-21T11:00:00Z"),
        record(4, "2026-02-21T12:00:00Z"),
        record(5, "2026-02-22T00:00:00Z"),
        record(6, "2026-02-21T10:59:59.999Z"),
    )
    assert taken == [[2], [], [6], []]
    assert [asked["greaterthanid"] for asked in told.asked] == ["0", "3", "5", "6"]
    assert {(asked["modifiedsince"], asked["sortby"], asked["countrycode"]) for asked in told.asked} == {
        ("2026-02-21T09:50:00", "id_asc", "DE")
    }


def test_a_time_without_an_offset_is_the_providers_utc() -> None:
    assert walk(HOUR, record(1, "2026-02-21T10:30:00"), record(2, "2026-02-21T12:30:00+02:00"))[0][0] == [1, 2]


def test_a_record_without_a_time_is_in_no_window_and_in_every_full_import() -> None:
    class Careless(Told):
        async def answer(self, path: str, params: dict[str, str]) -> ProviderAnswer:
            return await super().answer(path, {**params, "modifiedsince": ""})

    pages = asyncio.run(Careless([record(1)]).walk(HOUR))
    assert [page.fetched for page in pages] == [(), ()]
    assert walk(FULL, record(1))[0] == [[1], []]


def test_what_cannot_be_understood_is_kept_in_the_window_it_belongs_to() -> None:
    odd = {"AddressInfo": None}
    inside, outside = record(1, "2026-02-21T10:30:00Z", **odd), record(2, "2026-02-21T12:00:00Z", **odd)
    _, _, pages = walk(HOUR, inside, outside, record(3, "never", **odd))
    kept = [json.loads(reject.record)["ID"] for page in pages for reject in page.rejects]
    assert kept == [1, 3]
    assert pages[-1].cursor == "after:3"


def test_a_range_of_ids_begins_after_its_start_and_ends_with_its_end() -> None:
    taken, told, pages = walk(f"{FULL}/ids:3..6", *(record(number) for number in range(1, 10)))
    assert taken == [[3, 4], [5]]
    assert [asked["greaterthanid"] for asked in told.asked] == ["2", "4"]
    assert pages[-1].cursor == "after:5"


def test_the_last_id_of_a_range_needs_no_further_question() -> None:
    taken, told, _ = walk(f"{FULL}/ids:3..5", *(record(number) for number in range(1, 10)))
    assert (taken, len(told.asked)) == ([[3, 4]], 1)


def test_a_range_with_nothing_in_it_ends_at_once() -> None:
    assert walk(f"{FULL}/ids:3..6", record(2), record(7))[0] == [[]]
    assert walk(f"{FULL}/ids:3..6")[0] == [[]]


def test_what_is_past_the_range_is_not_counted_as_odd() -> None:
    _, _, pages = walk(f"{FULL}/ids:3..6", record(4), record(8, AddressInfo=None))
    assert [page.rejects for page in pages] == [()]


@pytest.mark.parametrize("at", [1, 3, 5, 9, 100])
def test_two_ranges_bring_together_everything_and_nothing_twice(at: int) -> None:
    records = [record(number) for number in (1, 2, 4, 5, 8, 9, 10)]
    parts = [walk(f"{FULL}/ids:{ids}", *records)[0] for ids in (f"0..{at}", f"{at}..")]
    assert [number for part in parts for page in part for number in page] == [1, 2, 4, 5, 8, 9, 10]


@pytest.mark.parametrize("shard", [FULL, "ocm/country:DE/refresh:019c7f7e-0000-7000-8000-000000000000"])
def test_a_full_import_and_a_refresh_ask_for_everything(shard: str) -> None:
    taken, told, _ = walk(shard, record(1), record(2), record(3))
    assert taken == [[1, 2], [3], []]
    assert all("modifiedsince" not in asked for asked in told.asked)


def test_a_window_may_be_cut_by_ids() -> None:
    records = [record(number, "2026-02-21T10:30:00Z") for number in range(1, 6)]
    assert walk(f"{HOUR}/ids:2..4", *records)[0] == [[2, 3]]


@pytest.mark.parametrize(
    ("shard", "message"),
    [
        ("ocm/country:DE", "is not a shard of the ocm source"),
        ("ocm/box:q1/full:2026-02-21", "is not a shard of the ocm source"),
        ("ocm/country:DE/colour:red", "is not a shard of the ocm source"),
        ("ocm/full:2026-02-21/country:DE", "is not a shard of the ocm source"),
        ("ocm/country:DE/country:FR/full:2026-02-21", "is not a shard of the ocm source"),
        ("ocm/country:DE/full:2026-02-21/ids:0..5/ids:0..3", "is not a shard of the ocm source"),
        ("other/country:DE/full:2026-02-21", "is not a shard of the ocm source"),
        ("ocm/country:XX/full:2026-02-21", "is not a country code"),
        ("ocm/country:de/full:2026-02-21", "is not a country code"),
        ("ocm/country:DE/full:yesterday", "is not a day"),
        ("ocm/country:DE/full:20260221", "is not a day"),
        ("ocm/country:DE/window:2026-02-21..2026-02-22", "is not a window"),
        ("ocm/country:DE/window:2026-02-21T01:00:00Z..2026-02-21T00:00:00Z", "ends before it starts"),
        ("ocm/country:DE/full:2026-02-21/ids:5..3", "ends before it starts"),
        ("ocm/country:DE/full:2026-02-21/ids:all", "is not a range of ids"),
    ],
)
def test_a_shard_that_it_does_not_know_is_refused_before_anybody_is_asked(shard: str, message: str) -> None:
    told = Told([])
    with pytest.raises(BadShardKey, match=message):
        asyncio.run(told.walk(shard))
    assert told.asked == []


def test_it_plans_by_country_and_window_and_is_cut_by_ids_alone() -> None:
    source = Told([])
    assert sorted(source.plans) == ["country", "window"]
    assert sorted(source.cuts) == ["ids"]
    with pytest.raises(UnsupportedScope, match="use --country instead of --bbox"):
        source.plan(Scope(bbox=Box(1, 2, 3, 4)), date(2026, 2, 21))


@pytest.mark.parametrize(
    "scope",
    [
        lambda: Scope(("DE", "FR")),
        lambda: Scope(("DE",), refresh=True),
        lambda: Scope(
            ("DE",),
            since=datetime.fromisoformat("2026-01-30T22:30:00Z"),
            until=datetime.fromisoformat("2026-03-02T01:00:00Z"),
        ),
    ],
)
def test_it_can_fetch_whatever_it_plans(scope: Callable[[], Scope]) -> None:
    shards = Told([]).plan(scope(), date(2026, 2, 21), "019c7f7e-0000-7000-8000-000000000000")
    assert shards
    for shard in shards:
        assert walk(str(shard))[0] == [[]]
