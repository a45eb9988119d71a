"""Changes to a record since it was made. They are kept instead of the changed record, because they are small."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from waypost.simulator.reference import Reference

_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class Birth:
    """A place that is a copy of another one, under an id of its own."""

    number: int
    uuid: str
    minute: int


@dataclass(frozen=True, slots=True)
class Patch:
    """Fields that were not changed are None. `minute` is the record's new DateLastStatusUpdate."""

    minute: int
    birth: Birth | None = None
    title: str | None = None
    status: int | None = None
    cost: str | None = None
    kilowatts: float | None = None
    point: tuple[float, float] | None = None


def apply(patch: Patch, record: dict[str, Any], reference: Reference) -> None:
    """Changes the record. One from a file may lack a field that is to change; that part of the patch does nothing."""
    if patch.birth:
        _bear(patch.birth, record)
    record["DateLastStatusUpdate"] = minute_text(patch.minute)
    address, plugs = record.get("AddressInfo"), record.get("Connections")
    if patch.status is not None:
        record["StatusTypeID"] = patch.status
        record["StatusType"] = reference.by_id("StatusTypes").get(patch.status)
    if patch.cost is not None:
        record["UsageCost"] = patch.cost
    if isinstance(address, dict) and patch.title is not None:
        address["Title"] = patch.title
    if isinstance(address, dict) and patch.point is not None:
        address["Latitude"], address["Longitude"] = patch.point
    if patch.kilowatts is not None and isinstance(plugs, list) and plugs and isinstance(plugs[0], dict):
        plugs[0]["PowerKW"] = patch.kilowatts


def minute_text(minute: int) -> str:
    """A time as in records: whole minutes."""
    days, rest = divmod(minute, 24 * 60)
    return f"{date.fromordinal(_EPOCH + days).isoformat()}T{rest // 60:02}:{rest % 60:02}:00Z"


def _bear(birth: Birth, record: dict[str, Any]) -> None:
    record["ID"] = birth.number
    record["UUID"] = birth.uuid
    record["DateCreated"] = minute_text(birth.minute)
