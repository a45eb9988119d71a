"""One Open Charge Map record, and the place it stands for."""

import math
from datetime import datetime

import msgspec

from waypost.adapters.sources.values import as_utc, filled
from waypost.places.place import Address, Attributes, Connector, Place, Status

_STATUSES: dict[int, Status] = {
    10: "operational",  # currently available
    20: "operational",  # currently in use
    30: "limited",  # temporarily unavailable
    50: "operational",
    75: "limited",  # partly operational
    100: "closed",  # not operational
    150: "planned",
    200: "closed",  # removed, decommissioned
    210: "closed",  # removed, a duplicate
}


class _Titled(msgspec.Struct, rename="pascal"):
    title: str | None = None


class _Country(msgspec.Struct, rename={"iso_code": "ISOCode"}):
    iso_code: str | None = None


class _AddressInfo(msgspec.Struct, rename="pascal"):
    latitude: float
    longitude: float
    title: str | None = None
    address_line1: str | None = None
    town: str | None = None
    state_or_province: str | None = None
    postcode: str | None = None
    country: _Country | None = None


class _Connection(
    msgspec.Struct,
    rename={"type_id": "ConnectionTypeID", "type": "ConnectionType", "power_kw": "PowerKW", "quantity": "Quantity"},
):
    type_id: int | None = None
    type: _Titled | None = None
    power_kw: float | None = None
    quantity: int | None = None

    def to_connector(self) -> Connector:
        name = filled(self.type.title if self.type else None) or f"type {self.type_id or 0}"
        return Connector(name, self.power_kw, self.quantity or 1)


class OcmRecord(
    msgspec.Struct,
    rename={
        "id": "ID",
        "address": "AddressInfo",
        "operator": "OperatorInfo",
        "connections": "Connections",
        "points": "NumberOfPoints",
        "status_id": "StatusTypeID",
        "updated_at": "DateLastStatusUpdate",
    },
):
    id: int
    address: _AddressInfo
    operator: _Titled | None = None
    connections: list[_Connection] | None = None
    points: int | None = None
    status_id: int | None = None
    updated_at: datetime | None = None

    def to_place(self, asked_for: str | None = None) -> Place:
        """Makes a place; a record that names no country is in the one that was asked for.

        Raises ValueError, with the reason, for a record that cannot be a place.
        """
        where = self.address
        if not (math.isfinite(where.latitude) and abs(where.latitude) <= 90):  # noqa: PLR2004 - a pole
            raise ValueError(f"latitude {where.latitude} is not on Earth")
        if not (math.isfinite(where.longitude) and abs(where.longitude) <= 180):  # noqa: PLR2004 - the antimeridian
            raise ValueError(f"longitude {where.longitude} is not on Earth")
        external_id = f"ocm:{self.id}"
        return Place(
            external_id=external_id,
            source="ocm",
            name=filled(where.title) or filled(where.town) or external_id,
            lat=where.latitude,
            lon=where.longitude,
            country=filled(where.country.iso_code if where.country else None) or asked_for,
            address=Address(
                filled(where.address_line1), filled(where.town), filled(where.state_or_province), filled(where.postcode)
            ),
            operator=filled(self.operator.title if self.operator else None),
            categories=("charging",),
            status=_STATUSES.get(self.status_id or 0, "unknown"),
            attributes=self._attributes(),
            provider_updated_at=as_utc(self.updated_at) if self.updated_at else None,
        )

    def _attributes(self) -> Attributes:
        connectors = tuple(connection.to_connector() for connection in self.connections or ())
        powers = [connector.power_kw for connector in connectors if connector.power_kw is not None]
        return Attributes(connectors, max(powers, default=None), self.points)
