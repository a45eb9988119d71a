"""What a definition of kind `files` says: which files there are, in which format, and which field says what."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.files.csv_rows import Csv
from waypost.adapters.sources.files.formats import FileUnusable, Format
from waypost.adapters.sources.files.geojson import GeoJson
from waypost.adapters.sources.files.geometry import point_of
from waypost.adapters.sources.files.listing import ending_of
from waypost.adapters.sources.files.ndjson import Ndjson
from waypost.adapters.sources.files.parquet import Parquet
from waypost.importing.definitions import read_table

_FEATURE = {"id": "id", "name": "properties.name", "coordinates": "geometry"}
_DEFAULTS = {
    "geojson": _FEATURE,
    "ndjson": _FEATURE,
    "csv": {"id": "id", "name": "name", "lat": "lat", "lon": "lon"},
    "geoparquet": {"id": "id", "name": "name", "coordinates": "geometry"},
}
_ENDINGS = {
    ".geojson": "geojson",
    ".json": "geojson",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".geojsonl": "ndjson",
    ".geojsons": "ndjson",
    ".geojsonseq": "ndjson",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "geoparquet",
    ".geoparquet": "geoparquet",
}


class FilesTable(msgspec.Struct, frozen=True):
    paths: list[str]
    format: Literal["geojson", "ndjson", "csv", "geoparquet"] | None = None
    fields: dict[str, Any] = {}
    delimiter: str | None = None
    encoding: str = "utf-8"


@dataclass(frozen=True)
class FilesDefinition:
    paths: tuple[str, ...]
    format: str | None
    fields: Mapping[str, FieldMap]
    delimiter: str | None
    encoding: str

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> "FilesDefinition":
        """Raises ValueError, with what is wrong."""
        table = read_table(given, FilesTable)
        if not table.paths or not all(table.paths):
            raise ValueError('paths should name files, or patterns such as "data/*.geojson"')
        formats = [table.format] if table.format else list(_DEFAULTS)
        fields = {name: FieldMap.parse(table.fields, _DEFAULTS[name], to_point=point_of) for name in formats}
        return cls(tuple(table.paths), table.format, fields, _delimiter(table.delimiter), _encoding(table.encoding))

    def format_of(self, path: Path) -> str:
        found = self.format or _ENDINGS.get(ending_of(path))
        if found is None:
            raise FileUnusable(
                f"{path}: its name does not tell its format",
                next_step=f"let it end with one of {', '.join(_ENDINGS)}, or set format in the source's file",
            )
        return found

    def reader_of(self, path: Path, bound: int) -> Format:
        name = self.format_of(path)
        needed = self.fields[name].needed
        match name:
            case "geojson":
                return GeoJson(bound)
            case "ndjson":
                return Ndjson(bound)
            case "csv":
                delimiter = self.delimiter or ("\t" if ending_of(path) == ".tsv" else ",")
                return Csv(bound, delimiter, self.encoding, needed)
            case _:
                return Parquet(bound, needed)


def _delimiter(given: str | None) -> str | None:
    if given is not None and (len(given) != 1 or given in '"\r\n'):
        raise ValueError(f'delimiter should be one character such as ";", not {given!r}')
    return given


def _encoding(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name.removesuffix("-sig")
        # Lines are found before they are decoded, so that reading can go on at any of them.
        is_fit = "\n".encode(name) == b"\n"
    except (LookupError, ValueError):
        raise ValueError(f"encoding {encoding!r} is not known here; write it like utf-8 or latin-1") from None
    if not is_fit:
        raise ValueError(f"encoding {encoding!r} cannot be read line by line; convert the files to utf-8 first")
    return name
