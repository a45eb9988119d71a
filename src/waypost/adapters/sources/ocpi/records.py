"""One OCPI location, of any version, and the place it stands for."""

import math
from collections import Counter
from datetime import datetime

import msgspec

from waypost.adapters.sources.values import as_utc, filled
from waypost.places.countries import country_code
from waypost.places.place import Address, Attributes, Connector, Place, Status

_WORKING = {"AVAILABLE", "BLOCKED", "CHARGING", "RESERVED"}
_FAILING = {"INOPERATIVE", "OUTOFORDER"}
_PHASES = {"AC_3_PHASE": 3, "AC_2_PHASE": 2, "AC_2_PHASE_SPLIT": 2}
_SEPARATOR = "*"
_LONGEST_ID = 200
_NAMES = {
    "CHADEMO": "CHAdeMO",
    "CHAOJI": "ChaoJi",
    "GBT_AC": "GB/T (AC)",
    "GBT_DC": "GB/T (DC)",
    "IEC_62196_T1": "Type 1 (J1772)",
    "IEC_62196_T1_COMBO": "CCS (Type 1)",
    "IEC_62196_T2": "Type 2",
    "IEC_62196_T2_COMBO": "CCS (Type 2)",
    "IEC_62196_T3A": "Type 3A",
    "IEC_62196_T3C": "Type 3C",
    "PANTOGRAPH_BOTTOM_UP": "Pantograph, from below",
    "PANTOGRAPH_TOP_DOWN": "Pantograph, from above",
    "SAE_J3400": "NACS (J3400)",
    "TESLA_R": "Tesla Roadster",
    "TESLA_S": "Tesla",
}
_FAMILIES = {
    "DOMESTIC_": "Domestic socket, type ",
    "IEC_60309_2_": "IEC 60309, ",
    "NEMA_": "NEMA ",
}


class _Coordinates(msgspec.Struct):
    latitude: str | float
    longitude: str | float


class _Named(msgspec.Struct):
    name: str | None = None


class _Connector(msgspec.Struct):
    standard: str = ""
    power_type: str = ""
    # The names of version 2.1.1; later versions have others.
    voltage: float | None = None
    amperage: float | None = None
    max_voltage: float | None = None
    max_amperage: float | None = None
    max_electric_power: float | None = None

    @property
    def power_kw(self) -> float | None:
        """The power that is stated, in watts, or volts between a phase and neutral, times amperes, times phases."""
        if self.max_electric_power:
            return round(self.max_electric_power / 1000, 3)
        voltage, amperage = self.max_voltage or self.voltage, self.max_amperage or self.amperage
        if not voltage or not amperage:
            return None
        return round(voltage * amperage * _PHASES.get(self.power_type, 1) / 1000, 3)


class _Evse(msgspec.Struct):
    status: str = "UNKNOWN"
    connectors: list[_Connector] = []


class Location(msgspec.Struct):
    id: str
    coordinates: _Coordinates
    country_code: str | None = None
    party_id: str | None = None
    publish: bool = True
    name: str | None = None
    address: str | None = None
    city: str | None = None
    postal_code: str | None = None
    state: str | None = None
    country: str | None = None
    operator: _Named | None = None
    evses: list[_Evse] | None = None
    last_updated: datetime | None = None

    def to_place(self, source: str, external_id: str) -> Place:
        """Raises ValueError, with the reason, for a location that cannot be a place."""
        street, town = filled(self.address), filled(self.city)
        return Place(
            external_id=external_id,
            source=source,
            name=filled(self.name) or street or town or external_id,
            lat=_degrees(self.coordinates.latitude, "latitude", 90),
            lon=_degrees(self.coordinates.longitude, "longitude", 180),
            country=country_code(self.country or "") or country_code(self.country_code or ""),
            address=Address(street, town, filled(self.state), filled(self.postal_code)),
            operator=filled(self.operator.name) if self.operator else None,
            categories=("charging",),
            status=self._status(),
            attributes=self._attributes(),
            provider_updated_at=as_utc(self.last_updated) if self.last_updated else None,
        )

    def _standing(self) -> list[_Evse]:
        return [evse for evse in self.evses or [] if evse.status != "REMOVED"]

    def _attributes(self) -> Attributes:
        evses = self._standing()
        counts = Counter(
            (name_of(connector.standard), connector.power_kw) for evse in evses for connector in evse.connectors
        )
        connectors = tuple(Connector(name, power, count) for (name, power), count in counts.items())
        powers = [connector.power_kw for connector in connectors if connector.power_kw is not None]
        return Attributes(connectors, max(powers, default=None), len(evses) if self.evses is not None else None)

    def _status(self) -> Status:
        """By all its points: one that works makes it more than closed, and one that does not, less than operational."""
        if self.evses and not self._standing():
            return "closed"
        found = {evse.status for evse in self._standing()}
        if found & _WORKING:
            return "limited" if found & _FAILING else "operational"
        if found & _FAILING:
            return "closed"
        return "planned" if found == {"PLANNED"} else "unknown"


class Identity(msgspec.Struct):
    """The part of a location that says which one it is, whatever else is wrong with it."""

    id: str
    country_code: str | None = None
    party_id: str | None = None

    def external_id(self, source: str, version: str) -> str:
        """Since version 2.2 an id is unique only with its country and party. Raises ValueError."""
        parts = [self.id] if version == "2.1.1" else [self.country_code or "", self.party_id or "", self.id]
        text = _SEPARATOR.join(part.strip() for part in parts)
        if not all(part.strip() for part in parts):
            raise ValueError("it has no id, or no country_code and party_id, which its id needs since version 2.2")
        if len(text) > _LONGEST_ID or not text.isprintable():
            raise ValueError(f"its id {text[:40]!r} is too long, or has characters that cannot be shown")
        return f"{source}:{text}"


def _degrees(given: str | float, name: str, most: int) -> float:
    try:
        degrees = float(given)
    except ValueError:
        degrees = math.nan
    if not abs(degrees) <= most:  # written so that NaN does not pass
        raise ValueError(f"{name} {str(given)[:40]!r} is not on Earth")
    return degrees


def name_of(standard: str) -> str:
    """Returns the usual name; one that is new to us is shown as it comes, with spaces."""
    if standard in _NAMES:
        return _NAMES[standard]
    for start, name in _FAMILIES.items():
        if standard.startswith(start):
            return name + standard.removeprefix(start).replace("_", " ")
    return standard.replace("_", " ").strip() or "unknown"
