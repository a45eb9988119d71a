"""A second provider, without order: pages by offset, answers with names (ETag), windows of time, places that move.

Half of its countries are lively: places are edited, added and removed, and the newest come first, so that pages move
under who reads them. The others are calm but for places that change for a moment and then are as they were before.
"""

import hashlib
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from drills.importing.probes import PROBED
from drills.importing.requests import Request
from support.told_provider import http, serving

SOURCE = "stations"
LIVELY, CALM = ("AT", "BE", "CZ", "DK"), ("ES", "FI", "IE", "PT")
COUNTRIES = (*LIVELY, *CALM)
RATE = 10
_PAGES_A_COUNTRY = 10
_LEAST_A_PAGE = 10
# Of all: more would seem to be too much for one import, if it takes long.
_MOST_DELETED = 0.05
_LEAST = 240
_ONE_IN = 20
_BEGIN = datetime(2026, 2, 20, tzinfo=UTC)
_FOR_A_MOMENT = (0.3, 1.5)
Record = dict[str, Any]


@dataclass
class Stations:
    """`hour` is that of its changes, counted from a day long ago, so that their windows are over."""

    places: int
    seed: int
    hour: int = 1
    url: str = ""
    made: Counter[str] = field(default_factory=Counter)
    requests: list[Request] = field(default_factory=list)
    _last: int = 0
    _records: dict[str, Record] = field(default_factory=dict)
    _moments: dict[str, tuple[float, Record]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._rng = random.Random(f"{self.seed} stations")  # noqa: S311 - draws places, guards nothing
        for number in range(self.count):
            self._add(COUNTRIES[number % len(COUNTRIES)], _BEGIN - timedelta(minutes=number + 1))

    @property
    def count(self) -> int:
        """At first."""
        return max(_LEAST, self.places // _ONE_IN)

    @property
    def page_size(self) -> int:
        return max(_LEAST_A_PAGE, self.count // len(COUNTRIES) // _PAGES_A_COUNTRY)

    def change(self) -> None:
        """A little of everything."""
        with self._lock:
            self._undo(until=time.monotonic())
            draw = self._rng.random()
            if draw < 0.5:  # noqa: PLR2004 - half of the time
                self._change_for_a_moment()
            elif draw < 0.8:  # noqa: PLR2004 - edits are more frequent than the rest
                self._edit()
            elif draw < 0.9 and self.made["deletions"] < self.count * _MOST_DELETED:  # noqa: PLR2004 - as additions
                del self._records[self._some(LIVELY)]
                self.made["deletions"] += 1
            else:
                self._add(self._rng.choice(LIVELY), self._now())
                self.made["additions"] += 1

    def settle(self) -> None:
        """What changed for a moment is as it was."""
        with self._lock:
            self._undo(until=float("inf"))

    def records(self) -> Mapping[str, Record]:
        with self._lock:
            return dict(self._records)

    def answer(self, request: str) -> bytes:
        arrived = time.monotonic()
        line, *headers = request.split("\r\n")
        asked = urlsplit(line.split(" ")[1])
        if asked.path == PROBED:
            return http(b"", keep_alive=True)
        known = [header.partition(":")[2].strip() for header in headers if header.lower().startswith("if-none-match:")]
        with self._lock:
            body = self._page({name: values[0] for name, values in parse_qs(asked.query).items()})
            etag = f'"{hashlib.blake2s(body, digest_size=8).hexdigest()}"'
            status = 304 if etag in known else 200
            number = len(self.requests) + 1
            self.requests.append(Request(number, arrived, asked.path, asked.query, status, None, 0.0))
        return http(b"" if etag in known else body, status=status, headers={"ETag": etag}, keep_alive=True)

    def _page(self, query: Mapping[str, str]) -> bytes:
        country, since, until = query["country"], query.get("since", ""), query.get("until", "9")
        found = [each for each in self._records.values() if each["country"] == country]
        found = [each for each in found if since <= each["updated"] < until]
        found.sort(key=lambda each: str(each["id"]))
        if country in LIVELY:
            found.sort(key=lambda each: str(each["updated"]), reverse=True)
        begin = int(query["offset"])
        return json.dumps({"total": len(found), "items": found[begin : begin + int(query["limit"])]}).encode()

    def _now(self) -> datetime:
        return _BEGIN + timedelta(hours=self.hour, seconds=self.made.total() % 3600)

    def _some(self, countries: Sequence[str]) -> str:
        possible = [key for key, each in self._records.items() if each["country"] in countries]
        return self._rng.choice([key for key in possible if key not in self._moments])

    def _edit(self) -> None:
        key = self._some(LIVELY)
        self._records[key] = _edited(self._records[key], self._now(), self.made.total())
        self.made["edits"] += 1

    def _change_for_a_moment(self) -> None:
        key = self._some(CALM)
        self._moments[key] = time.monotonic() + self._rng.uniform(*_FOR_A_MOMENT), self._records[key]
        self._records[key] = _edited(self._records[key], self._now(), self.made.total())
        self.made["undone edits"] += 1

    def _undo(self, *, until: float) -> None:
        for key, (due, before) in list(self._moments.items()):
            if due <= until:
                self._records[key] = before
                del self._moments[key]

    def _add(self, country: str, updated: datetime) -> None:
        # Nobody's id is ever given to another.
        self._last += 1
        number = self._last
        lat, lon = round(self._rng.uniform(-60, 60), 5), round(self._rng.uniform(-170, 170), 5)
        key = f"S{number:07}"
        self._records[key] = {
            "id": key,
            "name": f"Station {number}",
            "country": country,
            "lat": lat,
            "lon": lon,
            "updated": _text(updated),
        }


def window(hour: int) -> tuple[str, str]:
    """From when until when."""
    return _text(_BEGIN + timedelta(hours=hour)), _text(_BEGIN + timedelta(hours=hour + 1))


@contextmanager
def stations(folder: Path, places: int, seed: int) -> Iterator[Stations]:
    """Its file is in the folder `sources`, for whoever wants to import from it."""
    found = Stations(places, seed)
    with serving(found.answer) as told:
        found.url = told.url
        (folder / "sources").mkdir()
        (folder / "sources" / f"{SOURCE}.toml").write_text(_definition(told.url, found.page_size), encoding="utf-8")
        yield found


def _edited(record: Record, updated: datetime, number: int) -> Record:
    return {**record, "name": f"Station {record['id']} ({number})", "updated": _text(updated)}


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _definition(url: str, page_size: int) -> str:
    return f"""
name = "{SOURCE}"
kind = "json-api"
budget = "{RATE}/s"
url = "{url}/stations"
records = "items"

[licence]
name = "CC0"
attribution = "Nobody: they are invented"

[pagination]
kind = "offset"
parameter = "offset"
size_parameter = "limit"
size = {page_size}
total = "total"

[scope]
country = "country"
since = "since"
until = "until"

[fields]
id = "id"
name = "name"
lat = "lat"
lon = "lon"
country = "country"
updated_at = "updated"
categories = ["station"]
"""
