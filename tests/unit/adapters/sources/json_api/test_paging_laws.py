"""Whatever one kind of change does to a list while it is read by number: who slips through is not taken for deleted."""

import json
from typing import Literal, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from waypost.adapters.sources.http import ProviderAnswer, ProviderClient
from waypost.adapters.sources.json_api.body import Body
from waypost.adapters.sources.json_api.paging import Onwards, Paging, Received
from waypost.adapters.sources.json_api.tables import PaginationTable

SIZE = 3
Change = Literal["delete", "add", "move to the front"]


def ask(paging: Paging, ids: list[int], cursor: str | None) -> tuple[list[int], Onwards]:
    start = paging.position(cursor) if cursor else 0
    part = ids[start : start + SIZE]
    text = json.dumps({"items": part, "total": len(ids)}).encode()
    body = Body(text, str)
    records = [msgspec.Raw(json.dumps(number).encode()) for number in part]
    return part, paging.onwards(Received(ProviderAnswer(text), body, records), cursor)


def change(ids: list[int], kind: Change, at: int, fresh: int) -> None:
    match kind:
        case "delete" if ids:
            ids.pop(at % len(ids))
        case "add":
            ids.insert(at % (len(ids) + 1), fresh)
        case "move to the front" if ids:
            ids.insert(0, ids.pop(at % len(ids)))


@given(
    st.integers(0, 14),
    st.sampled_from(["delete", "add", "move to the front"]),
    st.lists(st.lists(st.integers(0, 20), max_size=2), max_size=6),
)
def test_a_record_that_is_there_all_the_time_is_missed_only_where_that_shows(
    count: int, kind: Change, changes: list[list[int]]
) -> None:
    table = PaginationTable(kind="offset", parameter="offset", total="total")
    paging = Paging(table, cast("ProviderClient", None), SIZE)
    ids, always = list(range(count)), set(range(count))
    seen: list[int] = []
    cursor, last, shown, fresh, certain = None, False, False, 1000, False
    while not last:
        part, onwards = ask(paging, ids, cursor)
        seen += part
        cursor, last, certain = onwards.cursor, onwards.last, onwards.certain
        shown = shown or onwards.moved is not None
        for at in changes.pop(0) if changes and not last else []:
            change(ids, kind, at, fresh)
            always &= set(ids)
            fresh += 1
    came_twice = len(set(seen)) < len(seen)
    if not shown and not came_twice and certain:
        assert always <= set(seen)
