"""A generation's places as files that other programs read, written row by row."""

from collections.abc import Callable
from typing import BinaryIO

import msgspec

from waypost.serving.reading.reader import Generation

Progress = Callable[[int], None]
Export = Callable[[Generation, BinaryIO, Progress], None]

_ROWS_A_WRITE = 1000


def write_geojson(generation: Generation, file: BinaryIO, progress: Progress) -> None:
    """Writes one FeatureCollection, with the generation's name and attribution."""
    head = {"type": "FeatureCollection", "generation": generation.name, "attribution": generation.manifest.attribution}
    file.write(msgspec.json.encode(head)[:-1] + b',"features":[')
    _write_rows(generation, file, progress, between=b",\n", after=b"")
    file.write(b"]}\n")


def write_ndjson(generation: Generation, file: BinaryIO, progress: Progress) -> None:
    """Writes one Feature per line."""
    _write_rows(generation, file, progress, between=b"\n", after=b"\n")


def _write_rows(generation: Generation, file: BinaryIO, progress: Progress, *, between: bytes, after: bytes) -> None:
    for start in range(0, generation.count, _ROWS_A_WRITE):
        rows = range(start, min(start + _ROWS_A_WRITE, generation.count))
        if start:
            file.write(between)
        file.write(between.join(map(generation.feature, rows)))
        progress(rows.stop)
    if generation.count:
        file.write(after)
