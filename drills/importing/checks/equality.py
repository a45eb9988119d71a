"""The store has exactly what the provider has, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from drills.importing.checks.exported import ExportedPlaces
from drills.importing.verdicts import Verdict
from waypost.adapters.sources.ocm.records import OcmRecord
from waypost.places.place import place_id, to_properties

_EXAMPLES = 5


@dataclass
class _Differences:
    """External ids; those with another record, or other fields of the place, are there on both sides."""

    missing: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    other_record: list[str] = field(default_factory=list)
    other_fields: list[str] = field(default_factory=list)


def check_equality(provider_export: Path, place_export: Path) -> Verdict:
    """Compares what the provider has with what `waypost place export` wrote."""
    found = _Differences()
    compared = 0
    with ExportedPlaces(place_export) as exported:
        found.doubled += exported.doubled
        left = {each for each in exported.ids() if each.startswith("ocm:")}
        for record, country in _records(provider_export):
            external_id = f"ocm:{record['ID']}"
            left.discard(external_id)
            compared += 1
            if (place := exported.get(external_id)) is None:
                found.missing.append(external_id)
            else:
                _compare(place, record, country, found)
        found.surplus += sorted(left)
    counts = {name: len(ids) for name, ids in vars(found).items()}
    return Verdict(
        "the store equals the provider, field by field",
        not any(counts.values()) and compared > 0,
        f"{compared:,} places compared; " + ", ".join(f"{count} {_words(name)}" for name, count in counts.items()),
        {"places": compared, **counts},
        [f"{_words(name)}: {', '.join(ids[:_EXAMPLES])}" for name, ids in vars(found).items() if ids],
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def _compare(place: dict[str, Any], record: dict[str, Any], country: str | None, found: _Differences) -> None:
    external_id = place["external_id"]
    if place.pop("record") != record:
        found.other_record.append(external_id)
    # Some records have no more than a country's number; what it stands for, others say.
    expected = msgspec.structs.replace(msgspec.convert(record, OcmRecord).to_place(), country=country)
    fields = msgspec.json.decode(msgspec.json.encode(to_properties(expected)))
    if place != {"id": str(place_id(external_id)), **fields}:
        found.other_fields.append(external_id)


def _records(export: Path) -> Iterator[tuple[dict[str, Any], str | None]]:
    """As the provider sends them with `verbose=false`, each with the code of its country."""
    codes: dict[Any, str] = {}
    unnamed = []
    with export.open("rb") as lines:
        for line in lines:
            record = _without_nulls(msgspec.json.decode(line))
            address = record["AddressInfo"]
            if "Country" in address:
                code = codes.setdefault(address["CountryID"], address["Country"]["ISOCode"])
                yield record, code
            else:
                unnamed.append(record)
    for record in unnamed:
        yield record, codes.get(record["AddressInfo"].get("CountryID"))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
