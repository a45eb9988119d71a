"""Generations for tests, built of invented places."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from waypost.places.place import Address, Attributes, Connector, Place
from waypost.serving.building.builder import build
from waypost.serving.reading.reader import Generation

MORNING = datetime(2026, 11, 15, 9, 15, tzinfo=UTC)


def station(number: int, *, name: str = "Station") -> Place:
    return Place(
        external_id=f"sim:{number}",
        source="sim",
        name=f"{name} {number}",
        lat=number * 7919 % 17000 / 100 - 85,
        lon=number * 104_729 % 36000 / 100 - 180,
        country=("DE", "FR", None)[number % 3],
        address=Address(town="Köln") if number % 2 else Address(),
        operator="Łódź Power" if number % 5 else None,
        categories=("charging",),
        status="operational",
        attributes=Attributes(connectors=(Connector("CCS", 150.0, 2),), power_kw=150.0, points=2),
        provider_updated_at=MORNING - timedelta(days=number % 300) if number % 7 else None,
    )


def stations(count: int, *, name: str = "Station") -> list[Place]:
    return [station(number, name=name) for number in range(count)]


def shelve(folder: Path, places: Iterable[Place], *, hours: int = 0) -> str:
    """Builds a generation so many hours after the morning; its name."""
    now = MORNING + timedelta(hours=hours)
    return build(places, folder, now=now, attribution={"sim": "Somebody's data"}).generation


@contextmanager
def generation_of(places: Iterable[Place]) -> Iterator[Generation]:
    """Built of these places, and open."""
    with tempfile.TemporaryDirectory() as folder:
        generation = Generation.open(Path(folder) / build(places, Path(folder), now=MORNING).generation)
        yield generation
        generation.close()
