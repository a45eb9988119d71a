"""The generated file, line by line, for those who fill their databases from it."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec


class _Point(msgspec.Struct):
    coordinates: tuple[float, float]


class _Address(msgspec.Struct):
    town: str


class Properties(msgspec.Struct):
    """What is kept as a text is kept as it came."""

    external_id: str
    source: str
    name: str
    country: str
    address: msgspec.Raw
    operator: str
    categories: msgspec.Raw
    status: str
    attributes: msgspec.Raw
    provider_updated_at: datetime

    @property
    def town(self) -> str:
        return _address.decode(self.address).town


class Feature(msgspec.Struct):
    id: str
    geometry: _Point
    properties: Properties

    @property
    def position(self) -> tuple[float, float]:
        """Longitude and latitude."""
        return self.geometry.coordinates


_address = msgspec.json.Decoder(_Address)
_feature = msgspec.json.Decoder(Feature)


def read(path: Path) -> Iterator[tuple[bytes, Feature]]:
    """Each with its own bytes."""
    with path.open("rb") as file:
        for line in file:
            yield line.rstrip(b"\n"), _feature.decode(line)
