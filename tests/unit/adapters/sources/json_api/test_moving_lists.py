"""What the json-api source tells of a list that changes while it is read."""

import asyncio
import hashlib
from collections.abc import Callable
from itertools import pairwise

import pytest

from support.lighthouses import Lighthouses, light, open_source
from support.told_provider import Told, http, provider
from waypost.importing.source import Page, Remembered
from waypost.scaling.jobs.shard_keys import ShardKey

SHARD = ShardKey.parse("lights/refresh:1")
WINDOW = ShardKey.parse("lights/window:2026-02-21T10:00:00Z..2026-02-21T11:00:00Z")
TOTAL, MORE = 'total = "meta.total"', 'more = "meta.more"'
KINDS = {
    "page": 'kind = "page"\nparameter = "page"',
    "offset": 'kind = "offset"\nparameter = "offset"',
    "token": 'kind = "cursor"\nparameter = "token"\ntoken = "meta.token"',
    "next": 'kind = "cursor"\nnext = "meta.next"',
    "link": 'kind = "link"',
    "keyset": 'kind = "keyset"\nparameter = "after"',
    "none": 'kind = "none"',
}
by_number = pytest.mark.parametrize("kind", ["page", "offset"])

Change = Callable[[Lighthouses], object]


def text(kind: str, *more: str) -> str:
    sized = [] if kind == "none" else ["size = 2", 'size_parameter = "limit"']
    return "\n".join(['records = "data.items"', "[pagination]", KINDS[kind], *sized, *more])


def nothing(_lights: Lighthouses) -> None: ...


def read(source: str, change: Change = nothing, *, count: int = 6, shard: ShardKey = SHARD) -> list[Page]:
    """All pages; something changes after the first one was read, and another worker goes on with each."""
    lights = Lighthouses([light(number) for number in range(1, count + 1)])

    async def main() -> list[Page]:
        pages: list[Page] = []
        async with provider(lights) as told:
            while not pages or not pages[-1].last:
                async with open_source(f"{told.url}/lights", source) as opened:
                    pages.append(await opened.fetch(shard, pages[-1].cursor if pages else None))
                if len(pages) == 1:
                    change(lights)
        return pages

    return asyncio.run(main())


@by_number
@pytest.mark.parametrize("more", [(TOTAL,), (TOTAL, MORE)], ids=["total", "total and more"])
@pytest.mark.parametrize(
    ("change", "total"),
    [
        (lambda lights: lights.lights.pop(0), 5),
        (lambda lights: lights.lights.pop(5), 5),
        (lambda lights: lights.lights.insert(0, light(9)), 7),
    ],
    ids=["deleted in front", "deleted at the end", "added in front"],
)
def test_a_total_that_changes_is_told_once(kind: str, more: tuple[str, ...], change: Change, total: int) -> None:
    told = [page.moved for page in read(text(kind, *more), change)]
    assert told == [None, f"the total changed from 6 to {total} while it was read"] + [None] * (len(told) - 2)


@by_number
def test_an_edit_that_moves_a_record_to_the_front_brings_another_one_twice(kind: str) -> None:
    """No total shows it; whoever keeps what the pages brought sees the repeat."""

    def edit(lights: Lighthouses) -> None:
        lights.lights.insert(0, lights.lights.pop(4))

    pages = read(text(kind, TOTAL), edit)
    ids = [[each.place.external_id for each in page.fetched] for page in pages]
    assert any(set(before) & set(after) for before, after in pairwise(ids))
    assert not any("lights:5" in page for page in ids)


@pytest.mark.parametrize(
    ("kind", "more", "certain"),
    [
        ("page", [], False),
        ("page", [MORE], False),
        ("page", [TOTAL], True),
        ("offset", [], False),
        ("offset", [MORE], False),
        ("offset", [TOTAL, MORE], True),
        ("token", [], False),
        ("next", [], False),
        ("link", [], False),
        ("keyset", [], True),
        ("none", [], True),
    ],
)
def test_what_several_pages_lack_is_certainly_gone_only_by_ids_or_by_totals(
    kind: str, more: list[str], *, certain: bool
) -> None:
    pages = read(text(kind, *more))
    assert (pages[-1].certain, {page.moved for page in pages}) == (certain, {None})


@pytest.mark.parametrize("kind", ["token", "next", "link"])
def test_one_answer_that_has_no_next_is_certain(kind: str) -> None:
    [page] = read(text(kind), count=2)
    assert page.certain


@by_number
@pytest.mark.parametrize("total", [1, 2, 7])
def test_a_total_that_contradicts_what_came_is_not_believed(kind: str, total: int) -> None:
    def answer(request: str) -> bytes:
        is_first = (
            "page=1&" in request or "offset=0&" in request or request.partition(" HTTP")[0].endswith(("=1", "=0"))
        )
        items = [light(1), light(2)] if is_first else [light(3)]
        return http({"data": {"items": items}, "meta": {"total": total, "more": is_first}}, keep_alive=True)

    pages = told_pages(answer, text(kind, TOTAL, MORE))
    assert (len(pages), pages[-1].certain, pages[-1].moved) == (2, False, None)


@by_number
def test_a_window_removes_nothing_and_tells_of_no_move(kind: str) -> None:
    source = f'{text(kind, TOTAL)}\n[scope]\nsince = "from"'
    pages = read(source, lambda lights: lights.lights.pop(), shard=WINDOW)
    assert {page.moved for page in pages} == {None}


@by_number
def test_an_answer_that_has_not_changed_is_judged_by_what_came_before_it_now(kind: str) -> None:
    """The second page is as it was, and yet the first one tells of another total by now."""
    pages = read(text(kind, TOTAL), count=4)
    known = Remembered('"two"', ("lights:3", "lights:4"), pages[1].cursor, last=True, covers=None)
    check = hashlib.blake2s(b"another first page", digest_size=8).hexdigest()
    position = 2
    again = {
        total: still(text(kind, TOTAL), known, f"{kind}:{position}:{read_now}:{read_now}:{total}:{check}")
        for total, read_now in ((4, 2), (5, 2))
    }
    assert (again[4].moved, again[4].certain, again[4].cursor) == (None, True, pages[1].cursor)
    assert again[5].moved == "the total changed from 5 to 4 while it was read"
    short = still(text(kind, TOTAL), known, f"{kind}:{position}:1:1:4:{check}")
    assert (short.moved, short.certain) == (None, False)


@pytest.mark.parametrize(("cursor", "certain"), [(None, True), ("token:t2", False)])
def test_an_answer_to_a_token_that_has_not_changed_is_certain_when_it_is_the_only_one(
    cursor: str | None, *, certain: bool
) -> None:
    known = Remembered('"x"', ("lights:1",), None, last=True, covers=None)
    assert still(text("token"), known, cursor).certain is certain


def told_pages(answer: Told, source: str) -> list[Page]:
    async def main() -> list[Page]:
        pages: list[Page] = []
        async with provider(answer) as told, open_source(f"{told.url}/lights", source) as opened:
            while not pages or not pages[-1].last:
                pages.append(await opened.fetch(SHARD, pages[-1].cursor if pages else None))
        return pages

    return asyncio.run(main())


def still(source: str, known: Remembered, cursor: str | None) -> Page:
    async def main() -> Page:
        unchanged = http(b"", status=304, keep_alive=True)
        async with provider(unchanged) as told, open_source(f"{told.url}/lights", source) as opened:
            return await opened.fetch_if_changed(SHARD, cursor, known)

    return asyncio.run(main())
