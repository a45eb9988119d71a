"""Parquet: one record per row, row group by row group, in batches."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from waypost.adapters.sources.files.formats import (
    FileBroken,
    FoundRecord,
    Records,
    Start,
    missing_library,
    require_columns,
)
from waypost.adapters.sources.files.geoparquet import Geometries

_ROWS, _BUFFER = 1024, 1 << 20


@dataclass(frozen=True)
class Parquet:
    bound: int
    needed: Collection[str]

    def open(self, path: Path, start: Start) -> tuple[Records, int]:
        _require_library(path)
        return self._read(path, start.number), 0

    def decode(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], bytes]:
        record = msgspec.json.encode(content, enc_hook=str)
        if len(record) > self.bound:
            raise ValueError(f"it is larger than {self.bound} bytes (import.max_answer)")
        return content, record

    def _read(self, path: Path, before: int) -> Records:
        import pyarrow as pa  # noqa: PLC0415 - large, and only some need it
        import pyarrow.parquet as pq  # noqa: PLC0415 - as above

        try:
            # Without these two, a whole row group is held in memory.
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
                geometries = Geometries.read(file.schema_arrow)
                require_columns({*file.schema_arrow.names, *geometries.columns}, self.needed)
                for group in range(file.num_row_groups):
                    rows = file.metadata.row_group(group).num_rows
                    if before < rows:
                        yield from _rows(file, group, before, geometries)
                    before = max(0, before - rows)
        except (pa.ArrowException, ValueError, OverflowError) as error:  # the latter: times that Python does not have
            raise FileBroken(str(error)) from error


def count_rows(path: Path) -> int:
    _require_library(path)
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    try:
        with pq.ParquetFile(path) as file:
            return int(file.metadata.num_rows)
    except pa.ArrowException as error:
        raise FileBroken(str(error)) from error


def _require_library(path: Path) -> None:
    try:
        import pyarrow.parquet  # noqa: F401, PLC0415 - large, and only some need it
    except ImportError:
        raise missing_library(f"{path.name}, like every Parquet file,") from None


def _rows(file: Any, group: int, before: int, geometries: Geometries) -> Records:
    for batch in file.iter_batches(_ROWS, row_groups=[group], use_threads=False):
        skipped = min(before, batch.num_rows)
        before -= skipped
        for row in _without_nanoseconds(batch.slice(skipped)).to_pylist():
            yield FoundRecord(row, reason=geometries.decode(row))


def _without_nanoseconds(batch: Any) -> Any:
    """Rounds times to microseconds, which are all that Python's have."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    for at, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            rounded = batch.column(at).cast(pa.timestamp("us", field.type.tz), safe=False)
            batch = batch.set_column(at, field.name, rounded)
    return batch
