"""What snapshots are built from and written to besides the store: files of places, and snapshots elsewhere."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from waypost.adapters.sources.files.places import cut_file, read_part
from waypost.places.place import Place
from waypost.places.store import FilePart
from waypost.settings import Settings

if TYPE_CHECKING:
    from waypost.serving.exporting import Export
    from waypost.serving.pulling.origin import Origin


def open_origin(url: str) -> "AbstractAsyncContextManager[Origin]":
    """Opens the snapshots of another machine."""
    from waypost.adapters.http.origin import HttpOrigin

    return HttpOrigin(url)


def export_as(form: str) -> "Export":
    """The function that writes a generation in this form."""
    from waypost.adapters.exports.geoparquet import write_geoparquet
    from waypost.serving.exporting import write_geojson, write_ndjson

    return {"geojson": write_geojson, "ndjson": write_ndjson, "geoparquet": write_geoparquet}[form]


def open_export(target: str) -> AbstractContextManager[BinaryIO]:
    """A file to export to, packed as its name says; `-` is the standard output."""
    from waypost.adapters.exports.streams import open_output

    return open_output(target)


def file_parts(path: Path, wanted: int) -> list[FilePart]:
    """Cuts a file of places into at most `wanted` parts, each for a process of its own."""
    return cut_file(path, wanted)


def read_file_part(part: FilePart, settings: Settings) -> Iterator[list[Place]]:
    """The places of a part of a file, in batches."""
    return read_part(part, settings.importing.max_answer)
