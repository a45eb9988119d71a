"""Invented places for tests."""

from datetime import UTC, datetime

import msgspec

from waypost.importing.cuts import IdRange
from waypost.importing.pages import Writing
from waypost.importing.passes import ROOM
from waypost.importing.source import Extent, Fetched, Page
from waypost.places.place import Place

NOON = datetime(2026, 2, 21, 12, tzinfo=UTC)


def place(number: int, *, name: str = "A place", lat: float = 50.0, lon: float = 10.0) -> Place:
    return Place(external_id=f"ocm:{number}", source="ocm", name=name, lat=lat, lon=lon, country="DE")


def fetched(number: int, *, name: str = "A place") -> Fetched:
    return Fetched(place(number, name=name), msgspec.json.encode({"ID": number, "Title": name}), number)


def page(
    *numbers: int,
    name: str = "A place",
    cursor: str | None = "after:9",
    last: bool = False,
    covers: IdRange | None = None,
) -> Page:
    return Page(tuple(fetched(number, name=name) for number in numbers), (), cursor, last, covers=covers)


def writing(
    *,
    requested_at: datetime = NOON,
    counted: dict[str, int] | None = None,
    area: str = "country:DE",
    parts: tuple[str, ...] = (),
    most_removed: float = 1.0,
    most_rejected: float = 1.0,
    room: int = ROOM,
    question: str | None = None,
    known_at: datetime | None = None,
    numbers: IdRange = IdRange(),  # noqa: B008 - frozen
    source: str = "ocm",
) -> Writing:
    return Writing(
        requested_at=requested_at,
        counted=counted or {},
        extent=Extent(source, area, numbers),
        parts=parts,
        most_removed=most_removed,
        most_rejected=most_rejected,
        room=room,
        question=question,
        known_at=known_at,
    )
