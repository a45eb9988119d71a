"""What a definition of kind `files` says: which files there are, in which format, and which field says what.

Also what each file is called in shard keys.
"""

import codecs
import glob
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from waypost.adapters.sources.fields import FieldMap
from waypost.adapters.sources.files.csv_rows import Csv
from waypost.adapters.sources.files.formats import FileUnusable, Format
from waypost.adapters.sources.files.geojson import GeoJson
from waypost.adapters.sources.files.geometry import point_of
from waypost.adapters.sources.files.ndjson import Ndjson
from waypost.adapters.sources.files.parquet import Parquet
from waypost.adapters.sources.files.streams import COMPRESSIONS
from waypost.importing.definitions import read_table

_LONGEST_NAME = 60
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


def find_files(paths: Sequence[str], folder: Path) -> dict[str, Path]:
    """Files by name. Raises FileUnusable when one that is named without a pattern is missing, or when there is none."""
    for path in paths:
        if not glob.has_magic(path) and not (folder / path).is_file():
            raise FileUnusable(f"{folder / path} is not there, or is not a file")
    files = list_files(paths, folder)
    if not files:
        raise FileUnusable(f"no file matches {', '.join(paths)} in {folder}")
    return files


def list_files(paths: Sequence[str], folder: Path) -> dict[str, Path]:
    """Returns the files that exist, by name and in the order of their paths."""
    named: dict[str, Path] = {}
    for path in sorted({path for pattern in paths for path in _matching(pattern, folder)}):
        other = named.setdefault(name_of(path, folder), path)
        if other != path:
            raise FileUnusable(f"{other} and {path} would have the same name in shard keys; rename one of them")
    return named


def name_of(path: Path, folder: Path) -> str:
    """Returns a name that is readable, different for each path, and the same wherever the folder lies."""
    relative = os.path.relpath(path, folder)
    digest = hashlib.blake2s(os.fsencode(relative), digest_size=4).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._+]+", "-", stem_of(path)).strip("-.")[:_LONGEST_NAME]
    return f"{readable or 'file'}-{digest}"


def ending_of(path: Path) -> str:
    """The ending that tells the format, without that of a compression."""
    name = path.name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return Path(name).suffix


def stem_of(path: Path) -> str:
    name = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    return Path(name).stem


def _matching(pattern: str, folder: Path) -> list[Path]:
    found = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    paths = [Path(os.path.normpath(folder / each)) for each in found]
    return [path for path in paths if path.is_file()]


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
