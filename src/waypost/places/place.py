"""A place: one point of interest, normalised, with the provider's record kept beside it."""

import hashlib
import uuid
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from waypost.kernel.clock import to_text

# Never change it: every place's id is derived from it.
_NAMESPACE = uuid.UUID("6f0c54a1-6b0e-5d8e-9a39-8f0f6b7f4c1d")
_NAMESPACE_BYTES = _NAMESPACE.bytes

Status = Literal["operational", "limited", "planned", "closed", "unknown"]


class Address(msgspec.Struct, frozen=True, omit_defaults=True):
    street: str | None = None
    town: str | None = None
    region: str | None = None
    postcode: str | None = None


class Connector(msgspec.Struct, frozen=True):
    type: str
    power_kw: float | None = None
    count: int = 1


# What a source may say about a place beyond what all places have.
Extra = str | int | float | bool | None


class Attributes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What matters about a place of its kind; for charging, which plugs it has and how fast they are.

    `extra` has whatever else the source says, under the source's own names.
    """

    connectors: tuple[Connector, ...] = ()
    power_kw: float | None = None
    points: int | None = None
    extra: dict[str, Extra] = {}

    def flat(self) -> dict[str, Any]:
        """The attributes as in JSON: the source's own beside ours."""
        ours = {name: value for name, value in msgspec.to_builtins(self).items() if name != "extra"}
        return self.extra | ours


class Place(msgspec.Struct, frozen=True, kw_only=True):
    external_id: str
    source: str
    name: str
    lat: float
    lon: float
    country: str | None
    address: Address = Address()
    operator: str | None = None
    categories: tuple[str, ...] = ()
    status: Status = "unknown"
    attributes: Attributes = Attributes()
    provider_updated_at: datetime | None = None

    @property
    def id(self) -> uuid.UUID:
        return place_id(self.external_id)


def place_id(external_id: str) -> uuid.UUID:
    """The stable id of the place that a provider knows by this external id, such as `ocm:2388`."""
    return uuid.UUID(bytes=place_id_bytes(external_id))


def place_id_bytes(external_id: str) -> bytes:
    """The id's 16 bytes: the same as from `uuid.uuid5`, in a third of the time."""
    digest = bytearray(hashlib.sha1(_NAMESPACE_BYTES + external_id.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)


def read_id(text: str) -> uuid.UUID:
    """A place's id from its text or from an external id."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return place_id(text)


def to_properties(place: Place) -> dict[str, Any]:
    """The fields of a place as JSON everywhere has them, without its id and the provider's record."""
    return {
        "external_id": place.external_id,
        "source": place.source,
        "name": place.name,
        "lat": place.lat,
        "lon": place.lon,
        "country": place.country,
        "address": place.address,
        "operator": place.operator,
        "categories": place.categories,
        "status": place.status,
        "attributes": place.attributes.flat() if place.attributes.extra else place.attributes,
        "provider_updated_at": to_text(place.provider_updated_at) if place.provider_updated_at else None,
    }


class _Point(msgspec.Struct, frozen=True, tag="Point"):
    coordinates: tuple[float, float]


class _Feature(msgspec.Struct, frozen=True, tag="Feature"):
    id: str
    geometry: _Point
    properties: Place | dict[str, Any]


_encode = msgspec.json.Encoder().encode


def to_feature(place: Place, place_id: bytes | None = None) -> bytes:
    """The place as a GeoJSON Feature, in the bytes that the API sends; pass its id if it is known, to save time."""
    digits = (place_id or place_id_bytes(place.external_id)).hex()
    spelled = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    return _encode(_Feature(spelled, _Point((place.lon, place.lat)), _properties(place)))


def _properties(place: Place) -> Place | dict[str, Any]:
    """The place itself where it encodes to the same JSON as its `to_properties`, else these."""
    moment = place.provider_updated_at
    if place.attributes.extra or not (moment is None or moment.tzinfo is UTC):
        return to_properties(place)
    return place
