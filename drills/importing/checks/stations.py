"""The store has exactly what the provider without order has."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drills.importing.checks.exported import ExportedPlaces
from drills.importing.stations import SOURCE
from drills.importing.verdicts import Verdict

_EXAMPLES = 5
_SAME = ("name", "lat", "lon", "country")


def check_stations(records: Mapping[str, Mapping[str, Any]], place_export: Path) -> Verdict:
    with ExportedPlaces(place_export) as exported:
        ours = {each for each in exported.ids() if each.startswith(f"{SOURCE}:")}
        theirs = {f"{SOURCE}:{key}": record for key, record in records.items()}
        missing, surplus = sorted(theirs.keys() - ours), sorted(ours - theirs.keys())
        other = [each for each in sorted(ours & theirs.keys()) if not _is_same(exported.get(each) or {}, theirs[each])]
    counts = {"missing": len(missing), "surplus": len(surplus), "other": len(other)}
    return Verdict(
        "the store equals the provider without order",
        not any(counts.values()) and bool(theirs),
        f"{len(theirs):,} places compared; " + ", ".join(f"{count} {name}" for name, count in counts.items()),
        {"places": len(theirs), **counts},
        [
            f"{name}: {', '.join(ids[:_EXAMPLES])}"
            for name, ids in (("missing", missing), ("surplus", surplus), ("other", other))
            if ids
        ],
    )


def _is_same(place: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return place.get("record") == record and all(place.get(name) == record[name] for name in _SAME)
