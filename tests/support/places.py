"""Invented places for tests."""

import msgspec

from waypost.importing.source import Fetched, Page
from waypost.places.place import Place


def place(number: int, *, name: str = "A place", lat: float = 50.0, lon: float = 10.0) -> Place:
    return Place(external_id=f"ocm:{number}", source="ocm", name=name, lat=lat, lon=lon, country="DE")


def fetched(number: int, *, name: str = "A place") -> Fetched:
    return Fetched(place(number, name=name), msgspec.json.encode({"ID": number, "Title": name}))


def page(*numbers: int, name: str = "A place", cursor: str | None = "after:9", last: bool = False) -> Page:
    return Page(tuple(fetched(number, name=name) for number in numbers), (), cursor, last)
