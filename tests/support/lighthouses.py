"""A JSON API with lighthouses that speaks every way of paging, and a source for it."""

import json
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.told_provider import http
from waypost.adapters.sources.json_api.source import JsonApiSource, make
from waypost.importing.definitions import SourceContext
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import Page
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import ShardKey

LICENCE = Licence("CC0", "The keepers")
FIELDS = """
[fields]
id = "id"
name = "title"
lat = "position.lat"
lon = "position.lon"
country = "country"
categories = ["lighthouse"]
updated_at = "changed"
[fields.attributes]
lamps = "lamps"
"""


def light(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": number,
        "title": f"Light {number}",
        "position": {"lat": 50 + number / 1000, "lon": 10 + number / 1000},
        "country": "DE",
        "lamps": number % 3,
    } | more


class Lighthouses:
    """Answers requests; pages have as many lights as `limit` says, and never more than `most`."""

    def __init__(self, lights: Sequence[Mapping[str, Any]], *, most: int = 1000) -> None:
        self.lights = list(lights)
        self.most = most

    def __call__(self, request: str) -> bytes:
        asked = urlsplit(request.split(" ")[1])
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        found = [each for each in self.lights if self._is_asked_for(each, query)]
        size = min(int(query.get("limit", self.most)), self.most)
        if "after" in query:
            found, start = [each for each in found if each["id"] > int(query["after"])], 0
        elif "page" in query:
            start = (int(query["page"]) - 1) * size
        else:
            start = int(query.get("offset", query.get("token", "t0").removeprefix("t")))
        items, end = found[start : start + size], start + size
        is_more = end < len(found)
        link = f"{asked.path}?limit={size}&offset={end}"
        body = {
            "data": {"items": items},
            "meta": {
                "total": len(found),
                "more": is_more,
                "token": f"t{end}" if is_more else None,
                "next": link if is_more else None,
            },
        }
        headers = {"Link": f'<{link}>; rel="next"'} if is_more else {}
        return http(items if asked.path == "/bare" else body, headers=headers, keep_alive=True)

    def _is_asked_for(self, each: Mapping[str, Any], query: Mapping[str, str]) -> bool:
        if "country" in query and each["country"] != query["country"]:
            return False
        if "bbox" in query:
            west, south, east, north = map(float, query["bbox"].split(","))
            where = each["position"]
            if not (west <= where["lon"] <= east and south <= where["lat"] <= north):
                return False
        changed = str(each.get("changed", ""))
        return query.get("since", "") <= (changed or "9") and changed < query.get("until", "9")


@asynccontextmanager
async def open_source(
    url: str,
    text: str = "",
    *,
    fields: str = FIELDS,
    environ: Mapping[str, str] | None = None,
    page_size: int = 100,
    timeout: float = 30,
    max_answer: int = 1_000_000,
) -> AsyncIterator[JsonApiSource]:
    importing = ImportingSettings(page_size, timeout, max_answer, 100, 0.2, 0.2)
    context = SourceContext("lights", LICENCE, importing, Path(), environ or {})
    source = make(tomllib.loads(f'url = "{url}"\n{text}\n{fields}'), context)
    try:
        yield source
    finally:
        await source.close()


async def walk(
    source: JsonApiSource, shard: str, *, on_page: Callable[[Page], None] = lambda _page: None
) -> list[Page]:
    pages: list[Page] = []
    while not pages or not (pages[-1].last or pages[-1].truncated):
        pages.append(await source.fetch(ShardKey.parse(shard), pages[-1].cursor if pages else None))
        on_page(pages[-1])
        assert len(pages) < 100, "the shard has no end"
    return pages


def numbers(pages: Sequence[Page]) -> list[list[int]]:
    return [[json.loads(each.record)["id"] for each in page.fetched] for page in pages]
