"""Places straight from files, for a snapshot without a store: GeoJSON, NDJSON and GeoParquet.

A place in our own form, as we export it, is taken as it is. Any other record becomes a place of a source that is named
after the file, unless it names its source. It must have an id and a position; whatever else it has under our names is
used, and its other plain values are kept as attributes.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.files.definition import FilesDefinition, stem_of
from waypost.adapters.sources.files.formats import FileUnusable, Format, FoundRecord, Start
from waypost.adapters.sources.files.geometry import point_of
from waypost.adapters.sources.files.parquet import count_rows
from waypost.adapters.sources.files.reading import telling
from waypost.adapters.sources.files.streams import is_compressed
from waypost.adapters.sources.values import moment_of
from waypost.places.place import Address, Attributes, Place
from waypost.places.store import FilePart

_BLOCK = 1 << 20
_ADDRESS = Address.__struct_fields__
_PLAIN = ("name", "country", "operator", "categories", "status")
_MEASURES = ("connectors", "power_kw", "points")
_OURS = {*Place.__struct_fields__, *_ADDRESS, "id", "geometry", "record", *_MEASURES}
_FIELDS = {
    "id": "id",
    **{name: name for name in _PLAIN},
    **{name: name for name in _ADDRESS},
    "updated_at": "provider_updated_at",
}
_ATTRIBUTES = {
    "power_kw": "power_kw",
    "points": "points",
    "connectors": {"path": "connectors", "type": "type", "power_kw": "power_kw", "count": "count"},
}


def cut_file(path: Path, wanted: int) -> list[FilePart]:
    """Returns at most `wanted` parts, which together are the file."""
    with telling(path):
        match _format_of(path):
            case "geoparquet":
                return _cut_rows(path, wanted)
            case "ndjson" if not is_compressed(path):
                return _cut_lines(path, wanted)
            case _:
                return [FilePart(str(path), number=at, step=wanted) for at in range(wanted)]


def read_part(part: FilePart, bound: int, batch: int = 1000) -> Iterator[list[Place]]:
    """Yields a part's places, in batches. Raises FileUnusable, with the line, for a record that cannot be a place."""
    path = Path(part.path)
    form = _FILES.reader_of(path, bound)
    source = source_of(path)
    with telling(path):
        records, before = form.open(path, _start(part))
        with closing(records):
            found = _numbered(part, islice(records, before, None))
            while places := [_read(path, form, source, *each) for each in islice(found, batch)]:
                yield places


def source_of(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", stem_of(path)).strip("-.") or "file"


_FILES = FilesDefinition.parse({"paths": ["*"], "fields": {}})


def _format_of(path: Path) -> str:
    if not path.is_file():
        raise FileUnusable(f"{path} is not there, or is not a file", next_step="waypost snapshot build --help")
    form = _FILES.format_of(path)
    if form == "csv":
        raise FileUnusable(f"{path} is CSV, whose columns need names", next_step="waypost source check")
    return form


def _cut_lines(path: Path, wanted: int) -> list[FilePart]:
    """Cuts at the ends of lines."""
    size = path.stat().st_size
    ends = {0, size}
    with path.open("rb") as file:
        for at in range(1, wanted):
            file.seek(size * at // wanted)
            file.readline()
            ends.add(min(file.tell(), size))
    ordered = sorted(ends)
    return [FilePart(str(path), offset=first, end=last) for first, last in pairwise(ordered)]


def _cut_rows(path: Path, wanted: int) -> list[FilePart]:
    rows = count_rows(path)
    ends = sorted({rows * at // wanted for at in range(wanted + 1)})
    return [FilePart(str(path), number=a, count=b - a) for a, b in pairwise(ends)]


def _start(part: FilePart) -> Start:
    if part.end is not None:
        return Start(0, part.offset or None)
    return Start(part.number if part.step == 1 else 0)


def _numbered(part: FilePart, records: Iterator[FoundRecord]) -> Iterator[tuple[int, FoundRecord]]:
    if part.end is not None:
        for at, found in enumerate(records):
            if found.end is None or found.end > part.end:
                return
            yield at, found
    elif part.step > 1:
        yield from islice(enumerate(records), part.number, None, part.step)
    else:
        yield from islice(enumerate(records, part.number), part.count)


def _read(path: Path, form: Format, source: str, number: int, found: FoundRecord) -> Place:
    try:
        if found.reason:
            raise ValueError(found.reason)  # noqa: TRY301 - one way out for all that is wrong
        fields, _ = form.decode(found.content)
        return to_place(fields, source)
    except (ValueError, msgspec.ValidationError) as error:
        where = (
            f"line {_line(path, found.end)}" if found.end and _format_of(path) == "ndjson" else f"record {number + 1}"
        )
        raise FileUnusable(f"{path}, {where}: {error}", next_step="correct it, and build again") from None


def _line(path: Path, end: int) -> int:
    """The number of the line that ends there."""
    lines, last = 0, b""
    with path.open("rb") as file:
        while end > 0 and (block := file.read(min(end, _BLOCK))):
            lines, end, last = lines + block.count(b"\n"), end - len(block), block
    return lines if last.endswith(b"\n") else lines + 1


def to_place(record: Mapping[str, Any], source: str) -> Place:
    """Raises ValueError, or msgspec's, for what cannot be a place."""
    fields = record
    if record.get("type") == "Feature":
        fields = {**(record.get("properties") or {}), "geometry": record.get("geometry")}
        if record.get("id") is not None:
            fields["id"] = record["id"]
    return _ours(fields) if fields.get("external_id") and fields.get("source") else _theirs(fields, source)


def _ours(fields: Mapping[str, Any]) -> Place:
    lon, lat = point_of(fields["geometry"]) if fields.get("geometry") else (fields.get("lon"), fields.get("lat"))
    address = fields.get("address") or {name: fields[name] for name in _ADDRESS if fields.get(name) is not None}
    moment = fields.get("provider_updated_at")
    plain = {name: fields[name] for name in _PLAIN if fields.get(name) is not None}
    return msgspec.convert(
        {
            "external_id": fields["external_id"],
            "source": fields["source"],
            "country": None,
            **plain,
            "lat": lat,
            "lon": lon,
            "address": address,
            "attributes": _attributes(fields.get("attributes")),
            "provider_updated_at": moment_of(moment),
        },
        Place,
    )


def _attributes(found: Any) -> Attributes:
    if isinstance(found, str):  # a column has one kind of value, so there they are JSON
        found = msgspec.json.decode(found)
    ours = {name: found[name] for name in _MEASURES if name in found} if found else {}
    extra = {name: value for name, value in (found or {}).items() if name not in _MEASURES}
    return msgspec.convert({**ours, "extra": extra}, Attributes)


def _theirs(fields: Mapping[str, Any], source: str) -> Place:
    """Reads a foreign record. Address and attributes may be objects of their own, as ours are, or beside the rest."""
    flat = {**fields}
    for name in ("address", "attributes"):
        if isinstance(flat.get(name), Mapping):
            flat |= flat[name]
    known = _FLAT_MAP if fields.get("geometry") is None and "lat" in fields else _MAP
    place = known.to_place(flat, str(fields.get("source") or source))
    extra = {
        name: value
        for name, value in flat.items()
        if name not in _OURS and value is not None and isinstance(value, str | int | float | bool)
    }
    if not extra:
        return place
    return msgspec.structs.replace(place, attributes=msgspec.structs.replace(place.attributes, extra=extra))


def _map(position: Mapping[str, str]) -> FieldMap:
    return FieldMap.parse({**_FIELDS, **position, "attributes": _ATTRIBUTES}, {}, to_point=point_of)


_MAP, _FLAT_MAP = _map({"coordinates": "geometry"}), _map({"lat": "lat", "lon": "lon"})
