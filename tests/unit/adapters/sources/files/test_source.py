"""The files source on real files: every format, every compression, and everything that happens to files."""

import asyncio
import bz2
import csv
import errno
import gzip
import io
import json
import lzma
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.processes import obey_permissions
from waypost.adapters.sources.files.definition import FilesDefinition
from waypost.adapters.sources.files.formats import FileUnusable
from waypost.adapters.sources.files.reading import Abandoned, telling
from waypost.adapters.sources.files.source import FilesSource
from waypost.importing.base import extent_of
from waypost.importing.cuts import IdRange
from waypost.importing.definitions import SourceContext
from waypost.importing.plan import UnsupportedScope
from waypost.importing.settings import ImportingSettings
from waypost.importing.source import BadCursor, Page, ProviderUnavailable, Scope
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey

DAY = date(2026, 2, 21)
PAGE = 10
BERLIN = (13.4, 52.5)

Row = dict[str, Any]
ROWS: list[Row] = [
    {"id": f"p{number}", "name": f'Place "{number}", é\n', "lon": number, "lat": -number / 2} for number in range(35)
]


def feature(row: Row) -> Row:
    point = {"type": "Point", "coordinates": [row["lon"], row["lat"]]}
    return {"type": "Feature", "id": row["id"], "properties": {"name": row["name"]}, "geometry": point}


def geojson(rows: list[Row]) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": [feature(row) for row in rows], "n": 1}).encode()


def ndjson(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(feature(row)).encode() + b"\n" for row in rows)


def csv_text(rows: list[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["id", "name", "lon", "lat"])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def wkb(lon: float, lat: float) -> bytes:
    return struct.pack("<bIdd", 1, 1, lon, lat)


def parquet(rows: list[Row], *, group: int = 8, **columns: Any) -> bytes:
    table = pa.table(
        {
            "id": [row["id"] for row in rows],
            "name": [row["name"] for row in rows],
            "geometry": [wkb(row["lon"], row["lat"]) for row in rows],
            **columns,
        }
    )
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), sink, row_group_size=group)
    return sink.getvalue()


def zst(content: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(content).to_pybytes()
    return compressed


FORMATS: dict[str, Callable[[list[Row]], bytes]] = {"geojson": geojson, "ndjson": ndjson, "csv": csv_text}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zst,
}
CASES = [(ending, compression) for ending in FORMATS for compression in COMPRESSIONS] + [("parquet", "")]
each_case = pytest.mark.parametrize(("ending", "compression"), CASES, ids="".join)


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(content)
    return path


def write_case(folder: Path, ending: str, compression: str, rows: list[Row] = ROWS) -> Path:
    content = parquet(rows) if ending == "parquet" else FORMATS[ending](rows)
    return write(folder, f"places.{ending}{compression}", COMPRESSIONS[compression](content))


def source(
    folder: Path,
    *,
    page_size: int = PAGE,
    max_answer: int = 1_000_000,
    kind: type[FilesSource] = FilesSource,
    **definition: Any,
) -> FilesSource:
    importing = ImportingSettings(
        page_size, timeout=30.0, max_answer=max_answer, max_pages=100, most_removed=0.2, most_rejected=0.2
    )
    context = SourceContext("city", Licence("CC0", "nobody"), importing, folder, environ={})
    return kind(FilesDefinition.parse({"paths": ["places.*"], **definition}), context)


async def walk(opened: FilesSource, shard: ShardKey, cursor: str | None = None) -> list[Page]:
    pages = [await opened.fetch(shard, cursor)]
    while not pages[-1].last:
        pages.append(await opened.fetch(shard, pages[-1].cursor))
    return pages


def read(opened: FilesSource) -> list[Page]:
    """All pages of the one file there is."""

    async def run() -> list[Page]:
        [shard] = opened.plan(Scope(), DAY)
        try:
            return await walk(opened, shard)
        finally:
            await opened.close()

    return asyncio.run(run())


def ids(*pages: Page) -> list[str]:
    return [fetched.place.external_id.removeprefix("city:") for page in pages for fetched in page.fetched]


def reasons(*pages: Page) -> list[str]:
    return [reject.reason for page in pages for reject in page.rejects]


@each_case
def test_every_record_comes_once_in_pages(tmp_path: Path, ending: str, compression: str) -> None:
    write_case(tmp_path, ending, compression)
    pages = read(source(tmp_path))
    assert ids(*pages) == [row["id"] for row in ROWS]
    assert [page.received for page in pages] == [10, 10, 10, 5]
    assert [page.covers for page in pages] == [IdRange(), None, None, None]
    fetched = [each for page in pages for each in page.fetched]
    assert [each.number for each in fetched] == list(range(1, 36))
    assert [(each.place.name, each.place.lon, each.place.lat) for each in fetched] == [
        (row["name"].strip(), row["lon"], row["lat"]) for row in ROWS
    ]
    assert all(isinstance(json.loads(each.record), dict) for each in fetched)
    assert reasons(*pages) == []


@each_case
def test_another_worker_goes_on_from_any_cursor(tmp_path: Path, ending: str, compression: str) -> None:
    write_case(tmp_path, ending, compression)
    pages = read(source(tmp_path, page_size=3))

    async def go_on(cursor: str | None) -> list[Page]:
        opened = source(tmp_path, page_size=3)
        [shard] = opened.plan(Scope(), DAY)
        found = await walk(opened, shard, cursor)
        await opened.close()
        return found

    for at, page in enumerate(pages[:-1]):
        assert asyncio.run(go_on(page.cursor)) == pages[at + 1 :]


def test_what_is_not_compressed_goes_on_at_a_byte_and_reads_nothing_before_it(tmp_path: Path) -> None:
    for ending in FORMATS:
        path = write_case(tmp_path, ending, "")
        opened = source(tmp_path, paths=[path.name])
        [shard] = opened.plan(Scope(), DAY)
        cursor = asyncio.run(opened.fetch(shard, None)).cursor
        offset = int(str(cursor).split("offset:")[1].split(",")[0])
        before = path.stat()
        # The header of CSV is needed; what comes behind it and before the cursor is not.
        kept = path.read_bytes().index(b"\n") + 1 if ending == "csv" else 0
        with path.open("r+b") as file:
            file.seek(kept)
            file.write(b"\0" * (offset - kept))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        fresh = source(tmp_path, paths=[path.name])
        assert ids(asyncio.run(fresh.fetch(shard, cursor))) == [row["id"] for row in ROWS[10:20]]


def test_a_file_is_opened_once_for_all_its_pages(tmp_path: Path) -> None:
    """One that is gone from its folder, but for a file of the same size and time, can only come from an open one."""
    path = write_case(tmp_path, "ndjson", ".gz")

    async def run() -> list[Page]:
        opened = source(tmp_path)
        [shard] = opened.plan(Scope(), DAY)
        first = await opened.fetch(shard, None)
        before = path.stat()
        path.unlink()
        path.write_bytes(b"x" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        pages = [first, *await walk(opened, shard, first.cursor)]
        await opened.close()
        return pages

    assert ids(*asyncio.run(run())) == [row["id"] for row in ROWS]


def test_a_page_that_is_asked_for_again_is_the_same(tmp_path: Path) -> None:
    write_case(tmp_path, "ndjson", ".gz")

    async def run() -> None:
        opened = source(tmp_path)
        [shard] = opened.plan(Scope(), DAY)
        first = await opened.fetch(shard, None)
        second = await opened.fetch(shard, first.cursor)
        assert await opened.fetch(shard, first.cursor) == second
        assert await opened.fetch(shard, None) == first
        third = await opened.fetch(shard, second.cursor)
        assert ids(third) == [row["id"] for row in ROWS[20:30]]
        await opened.close()

    asyncio.run(run())


def test_many_shards_are_read_side_by_side(tmp_path: Path) -> None:
    for number in range(20):
        rows = [{**row, "id": f"{number}-{row['id']}"} for row in ROWS]
        write(tmp_path, f"deep/{number}/places.ndjson.gz", gzip.compress(ndjson(rows)))

    async def run() -> None:
        opened = source(tmp_path, paths=["**/*.ndjson.gz"])
        shards = opened.plan(Scope(), DAY)
        found = await asyncio.gather(*(walk(opened, shard) for shard in shards))
        await opened.close()
        assert sorted(ids(*(page for pages in found for page in pages))) == sorted(
            f"{number}-{row['id']}" for number in range(20) for row in ROWS
        )

    asyncio.run(run())


def test_a_shard_a_file_with_a_name_of_its_own(tmp_path: Path) -> None:
    for name in ("a/places.geojson", "b/places.geojson", "b/Plätze in Köln.geojson.gz", "b/notes.txt"):
        write(tmp_path, name, geojson([]))
    opened = source(tmp_path, paths=["a/*.geojson", "**/*.geojson*", str(tmp_path / "b" / "places.geojson")])
    shards = opened.plan(Scope(), DAY)
    assert [str(shard) for shard in shards] == [
        "city/file:places-1ca6d864/full:2026-02-21",
        "city/file:Pl-tze-in-K-ln-254d7c0e/full:2026-02-21",
        "city/file:places-6a93ed45/full:2026-02-21",
    ]
    assert [ShardKey.parse(str(shard)) for shard in shards] == shards
    assert opened.extent(shards[0]) == extent_of(shards[0])
    assert extent_of(shards[0]).area == "file:places-1ca6d864"
    again = source(tmp_path, paths=["**/*.geojson*"])
    assert str(again.plan(Scope(refresh=True), DAY, "i1")[0]).endswith("/refresh:i1")
    assert opened.budget_key is None
    assert opened.licence == Licence("CC0", "nobody")


def test_files_know_no_countries_boxes_and_windows(tmp_path: Path) -> None:
    write_case(tmp_path, "csv", "")
    with pytest.raises(UnsupportedScope, match="leave --country out"):
        source(tmp_path).plan(Scope(("DE",)), DAY)
    since, until = datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 2, 2, tzinfo=UTC)
    with pytest.raises(UnsupportedScope, match="leave --since out"):
        source(tmp_path).plan(Scope(since=since, until=until), DAY)


def test_paths_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileUnusable, match=r"no file matches none/\*\.csv"):
        source(tmp_path, paths=["none/*.csv"]).plan(Scope(), DAY)
    write_case(tmp_path, "csv", "")
    with pytest.raises(FileUnusable, match=r"misspelt\.csv is not there"):
        source(tmp_path, paths=["places.csv", "misspelt.csv"]).plan(Scope(), DAY)


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_imported(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", b"")
    with pytest.raises(FileUnusable, match=r"a\.csv is damaged or incomplete: it has no column id.*; it has none"):
        asyncio.run(source(tmp_path, paths=["*.csv"]).check())
    write(tmp_path, "b.csv", csv_text(ROWS))
    asyncio.run(source(tmp_path, paths=["*.csv"]).check())


def test_a_format_that_no_name_tells_has_to_be_given(tmp_path: Path) -> None:
    write(tmp_path, "places.dat.gz", gzip.compress(ndjson(ROWS)))
    with pytest.raises(FileUnusable, match="does not tell its format"):
        source(tmp_path).plan(Scope(), DAY)
    assert len(ids(*read(source(tmp_path, format="ndjson")))) == len(ROWS)


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"paths": []}, "paths should name files"),
        ({"paths": "a.csv"}, "paths: Expected `array`"),
        ({"format": "shape"}, "format: Invalid enum value 'shape'; write one of geojson, ndjson, csv, geoparquet"),
        ({"fromat": "csv"}, "there is no key fromat; .* Did you mean format?"),
        ({"fields": {"nmae": "a"}}, "fields has no nmae"),
        ({"delimiter": ";;"}, "delimiter should be one character"),
        ({"encoding": "klingon"}, "encoding 'klingon' is not known"),
        ({"encoding": "utf-16"}, "encoding 'utf-16' cannot be read line by line"),
    ],
)
def test_a_definition_that_cannot_be_used_is_told(tmp_path: Path, definition: Row, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        source(tmp_path, **definition)


def test_shards_and_cursors_of_others_are_refused(tmp_path: Path) -> None:
    write_case(tmp_path, "csv", "")
    opened = source(tmp_path)
    [shard] = opened.plan(Scope(), DAY)
    for text in ("ocm/country:DE/full:2026-02-21", "city/full:2026-02-21", "city/file:a/window:b"):
        with pytest.raises(BadShardKey):
            asyncio.run(opened.fetch(ShardKey.parse(text), None))
    for cursor in ("after:7", "", "record:1,offset:1,file:1-1", "record:-1,offset:,file:1-1,restarts:0"):
        with pytest.raises(BadCursor):
            asyncio.run(opened.fetch(shard, cursor))


@each_case
def test_a_file_that_changes_in_the_middle_is_read_again_from_its_beginning(
    tmp_path: Path, ending: str, compression: str
) -> None:
    write_case(tmp_path, ending, compression)

    async def run() -> list[Page]:
        opened = source(tmp_path)
        [shard] = opened.plan(Scope(), DAY)
        first = await opened.fetch(shard, None)
        write_case(tmp_path, ending, compression, ROWS[::-1][:12])
        pages = await walk(opened, shard, first.cursor)
        await opened.close()
        return pages

    pages = asyncio.run(run())
    assert ids(*pages) == [row["id"] for row in ROWS[::-1][:12]]
    assert [page.covers for page in pages] == [IdRange(), None]


def test_a_file_that_never_stops_changing_is_given_up(tmp_path: Path) -> None:
    path = write_case(tmp_path, "ndjson", "")
    opened = source(tmp_path)
    [shard] = opened.plan(Scope(), DAY)
    page = asyncio.run(opened.fetch(shard, None))
    cursors = {page.cursor}
    for restarts in range(4):
        with path.open("ab") as file:
            file.write(ndjson(ROWS[:1]))
        if restarts == 3:
            with pytest.raises(FileUnusable, match="changed 4 times while it was being read"):
                asyncio.run(opened.fetch(shard, page.cursor))
        else:
            page = asyncio.run(opened.fetch(shard, page.cursor))
            cursors.add(page.cursor)
    assert len(cursors) == 4


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = write_case(tmp_path, "csv", "")
    planned = source(tmp_path)
    [shard] = planned.plan(Scope(), DAY)
    path.unlink()
    with pytest.raises(FileUnusable, match=r"places\.csv cannot be read: No such file"):
        asyncio.run(planned.fetch(shard, None))
    with pytest.raises(FileUnusable, match=r"city/file:places-\w+/full:2026-02-21: there is no such file any more"):
        asyncio.run(source(tmp_path).fetch(shard, None))


@pytest.mark.parametrize(
    ("ending", "compression"), [case for case in CASES if case[1] or case[0] == "parquet"], ids="".join
)
def test_a_file_that_was_cut_off_never_ends_a_shard(tmp_path: Path, ending: str, compression: str) -> None:
    path = write_case(tmp_path, ending, compression)
    content = path.read_bytes()
    for length in (len(content) - 1, len(content) - 5, len(content) // 2, 12):
        path.write_bytes(content[:length])
        with pytest.raises(FileUnusable, match=r"places\.\S+ (is damaged or incomplete|cannot be read)"):
            read(source(tmp_path))


def test_plain_files_that_break_off_in_a_record_never_end_a_shard(tmp_path: Path) -> None:
    for ending in FORMATS:
        path = write(tmp_path, f"plain.{ending}", FORMATS[ending](ROWS).rstrip()[:-8])
        with pytest.raises(FileUnusable, match="is damaged or incomplete"):
            read(source(tmp_path, paths=[path.name]))


def test_a_last_line_without_an_end_is_a_line(tmp_path: Path) -> None:
    for ending in ("ndjson", "csv"):
        path = write(tmp_path, f"plain.{ending}", FORMATS[ending](ROWS).rstrip())
        assert len(ids(*read(source(tmp_path, paths=[path.name])))) == len(ROWS)


READING = """
import pathlib, sys
from unit.adapters.sources.files.test_source import read, source
read(source(pathlib.Path(sys.argv[1])))
"""


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """In a process of its own, because the superuser may read everything until it gives that up for good."""
    path = write_case(tmp_path, "csv", "")
    path.chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", READING, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert re.search(rf"FileUnusable: .*{path.name}.*Permission denied", done.stderr), done.stderr


def test_bad_records_are_rejected_with_their_number_and_stop_nothing(tmp_path: Path) -> None:
    lines = [
        b'{"id": 1, "geometry": {"type": "Point", "coordinates": [1, 1]}}',
        b"",
        b"{oops}",
        b"[1]",
        b'{"geometry": {"type": "Point", "coordinates": [1, 1]}}',
        b'{"id": 4, "geometry": null}',
        b'{"id": 5, "geometry": {"type": "Point", "coordinates": [1, 91]}}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"id": 8, "text": "' + b"x" * 200_000 + b'"}',
        b'\x1e{"id": 9, "geometry": {"type": "Point", "coordinates": [1, 1]}}\r',
    ]
    write(tmp_path, "places.ndjson", b"\xef\xbb\xbf" + b"\n".join(lines))
    [page] = read(source(tmp_path, max_answer=150_000, page_size=100))
    assert ids(page) == ["1", "9"]
    assert [re.sub(r" \(.*|(?<=JSON): .*", "", reason) for reason in reasons(page)] == [
        "record 2: it is not JSON",
        "record 3: it is not an object",
        "record 4: it has no id: there is nothing in its field id",
        "record 5: it has no position",
        "record 6: latitude 91.0 is not on Earth",
        "record 7: it is not JSON",
        "record 8: it is nested too deeply",
        "record 9: it is larger than 150000 bytes",
    ]
    assert [reject.external_id for reject in page.rejects] == [None, None, None, "city:4", "city:5", None, None, None]


def test_a_page_is_bounded_in_bytes_too(tmp_path: Path) -> None:
    write(tmp_path, "places.ndjson", ndjson([{**row, "name": "x" * 10_000} for row in ROWS]))
    pages = read(source(tmp_path, max_answer=30_000))
    assert ids(*pages) == [row["id"] for row in ROWS]
    assert {page.received for page in pages[:-1]} == {3}


def test_rows_of_csv_that_are_wrong_are_rejected(tmp_path: Path) -> None:
    rows = [
        b"id;name;lat;lon",
        b'1;"a\nb";1;1',
        b"2;x;1",
        b'3;"x"y;1;1',
        b"4;\xff;1;1",
        b"",
        b"5;z;1;1",
        b'6;"' + b'x""\n' * 9_000 + b'";1;1',
        b'7;"' + b'x""y' * 9_000 + b'\n";1;1',
        b"8;z;1;1",
    ]
    write(tmp_path, "places.csv", b"\xef\xbb\xbf" + b"\r\n".join(rows) + b"\r\n")
    [page] = read(source(tmp_path, delimiter=";", max_answer=10_000, page_size=1000))
    assert ids(page) == ["1", "5", "8"]
    told = reasons(page)
    assert told[0] == "record 2: it has 3 columns, and the header has 4"
    assert told[1].startswith("record 3: it is not CSV: ")
    assert told[2] == "record 4: it is not utf-8: invalid start byte"
    assert told[3:] == [f"record {number}: it is larger than 10000 bytes (import.max_answer)" for number in (6, 7)]


def test_a_field_of_csv_that_is_too_large_does_not_lead_astray(tmp_path: Path) -> None:
    write(
        tmp_path,
        "places.csv",
        b'id,name,lat,lon\n1,"' + b'x\n""' * 100_000 + b'",1,1\n2,a,1,1\n3,"' + b'x\n""' * 100_000,
    )
    opened = source(tmp_path, max_answer=10_000_000, page_size=1)
    [shard] = opened.plan(Scope(), DAY)
    first = asyncio.run(opened.fetch(shard, None))
    assert reasons(first) == ["record 1: it is not CSV: field larger than field limit (131072)"]
    second = asyncio.run(opened.fetch(shard, first.cursor))
    assert ids(second) == ["2"]
    with pytest.raises(FileUnusable, match="it ends in the middle of a record"):
        asyncio.run(opened.fetch(shard, second.cursor))


def test_csv_in_another_encoding_and_with_tabs(tmp_path: Path) -> None:
    write(tmp_path, "places.tsv", "nr\tname\ty\tx\n1\tKöln\t50.9\t6.9\n".encode("latin-1"))
    [page] = read(source(tmp_path, encoding="latin-1", fields={"id": "nr", "lat": "y", "lon": "x"}))
    assert page.fetched[0].place.name == "Köln"
    assert json.loads(page.fetched[0].record) == {"nr": "1", "name": "Köln", "y": "50.9", "x": "6.9"}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it has no column id"),
        (b"nr,lat,lon\n", "it has no column id, which \\[fields\\] names; it has lat, lon, nr"),
        (b"id,lat,lat,lon\n", "two of its columns have the same name"),
        (b'id,"lat\n', "its header cannot be read"),
    ],
)
def test_csv_without_the_columns_it_needs_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    write(tmp_path, "places.csv", content)
    with pytest.raises(FileUnusable, match=reason):
        read(source(tmp_path))


def test_geometries_that_are_no_points_get_one(tmp_path: Path) -> None:
    square = [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]
    small = [[[50, 50], [51, 50], [51, 51], [50, 50]]]
    geometries = [
        {"type": "Polygon", "coordinates": square},
        {"type": "MultiPolygon", "coordinates": [small, square]},
        {"type": "LineString", "coordinates": [[0, 0], [1, 2], [9, 9]]},
        {"type": "MultiLineString", "coordinates": [[[5, 5]], [[0, 0], [1, 2], [9, 9]]]},
        {"type": "MultiPoint", "coordinates": [[7, 8], [1, 1]]},
        {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [3, 4]}]},
        {"type": "Polygon", "coordinates": [[[2, 2], [2, 2], [2, 2], [2, 2]]]},
        {"type": "Polygon", "coordinates": []},
        {"type": "Polygon"},
        {"type": "Blob", "coordinates": [1, 2]},
        {"type": "GeometryCollection", "geometries": []},
    ]
    features = [{"id": number, "geometry": geometry} for number, geometry in enumerate(geometries)]
    write(tmp_path, "places.geojson", json.dumps({"features": features}).encode())
    [page] = read(source(tmp_path, page_size=100))
    found = [(each.place.lon, each.place.lat) for each in page.fetched]
    assert found == [(2, 2), (2, 2), (1, 2), (1, 2), (7, 8), (3, 4), (2, 2)]
    assert len(page.rejects) == 4
    assert all("position" in reason for reason in reasons(page))


def test_parquet_with_structs_lists_times_and_other_geometries(tmp_path: Path) -> None:
    line = struct.pack("<bII4d", 1, 2, 2, 0.0, 0.0, 6.0, 7.0)
    with_height = struct.pack(">bIddd", 0, 1001, 1.0, 2.0, 300.0)
    with_srid = struct.pack("<bIIdd", 1, 0x20000001, 4326, 3.0, 4.0)
    table = pa.table(
        {
            "id": ["a", "b", "c", "d", "e", "f"],
            "names": [{"primary": "A"}, None, {"primary": None}, None, None, None],
            "addresses": [[{"country": "DE", "locality": "Bonn"}], [], None, None, None, None],
            "at": pa.array([1771632000_000000001] * 6, pa.timestamp("ns", "UTC")),
            "where": [line, with_height, with_srid, b"\x01junk", None, struct.pack("<bII", 1, 2, 2**31)],
        }
    )
    geo = {"primary_column": "where", "columns": {"where": {"encoding": "WKB", "crs": None}}}
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "places.parquet")
    fields = {
        "name": "names.primary",
        "country": "addresses.0.country",
        "town": "addresses.0.locality",
        "updated_at": "at",
    }
    [page] = read(source(tmp_path, fields=fields))
    places = [each.place for each in page.fetched]
    assert [(place.lon, place.lat, place.name, place.country) for place in places] == [
        (6, 7, "A", "DE"),
        (1, 2, "city:b", None),
        (3, 4, "city:c", None),
    ]
    assert places[0].address.town == "Bonn"
    assert places[0].provider_updated_at == datetime(2026, 2, 21, tzinfo=UTC)
    assert json.loads(page.fetched[1].record)["where"] == {"type": "Point", "coordinates": [1, 2]}
    assert [reject.external_id for reject in page.rejects] == ["city:d", "city:e", "city:f"]
    assert ["where cannot be read" in reason for reason in reasons(page)] == [True, False, True]


def test_rows_of_parquet_are_bounded_and_its_times_have_to_exist(tmp_path: Path) -> None:
    rows = ROWS[:2]
    write(tmp_path, "places.parquet", parquet(rows, text=["x" * 50_000, "y"]))
    [page] = read(source(tmp_path, max_answer=10_000))
    assert ids(page) == ["p1"]
    assert reasons(page) == ["record 1: it is larger than 10000 bytes (import.max_answer)"]
    assert page.rejects[0].external_id == "city:p0"
    assert len(page.rejects[0].record) < 2000
    write(tmp_path, "places.parquet", parquet(rows, at=pa.array([0, 2**62], pa.timestamp("us"))))
    with pytest.raises(FileUnusable, match=r"places\.parquet is damaged"):
        read(source(tmp_path))


def test_parquet_with_coordinates_in_columns(tmp_path: Path) -> None:
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "point"}}}
    native = pa.table({"id": [1], "geometry": [{"x": 13.4, "y": 52.5}]})
    pq.write_table(native.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "places.parquet")
    pq.write_table(pa.table({"id": [1], "lat": [52.5], "lon": [13.4]}), tmp_path / "plain.parquet")
    fields = {"lat": "lat", "lon": "lon"}
    for opened in (source(tmp_path), source(tmp_path, paths=["plain.parquet"], fields=fields)):
        [page] = read(opened)
        assert (page.fetched[0].place.lon, page.fetched[0].place.lat) == BERLIN


def test_parquet_in_metres_or_without_its_columns_is_refused(tmp_path: Path) -> None:
    metres = {"type": "ProjectedCRS", "name": "WGS 84 / Pseudo-Mercator"}
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB", "crs": metres}}}
    table = pa.table({"id": [1], "geometry": [wkb(*BERLIN)]}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, tmp_path / "places.parquet")
    with pytest.raises(FileUnusable, match=r"in WGS 84 / Pseudo-Mercator; convert it"):
        read(source(tmp_path))
    pq.write_table(pa.table({"id": [1], "geometry": [wkb(*BERLIN)]}), tmp_path / "places.parquet")
    with pytest.raises(FileUnusable, match=r"it has no column fid"):
        read(source(tmp_path, fields={"id": "fid"}))


def test_several_compressed_parts_in_one_file_are_all_read(tmp_path: Path) -> None:
    for compression, compress in COMPRESSIONS.items():
        path = write(tmp_path, f"parts.ndjson{compression}", compress(ndjson(ROWS[:20])) + compress(ndjson(ROWS[20:])))
        assert len(ids(*read(source(tmp_path, paths=[path.name])))) == len(ROWS)


def test_a_check_reads_a_record_of_each_kind(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", csv_text(ROWS))
    asyncio.run(source(tmp_path, paths=["*.*"]).check())
    write(tmp_path, "b.ndjson.gz", b"no gzip")
    with pytest.raises(FileUnusable, match=r"b\.ndjson\.gz cannot be read: Not a gzipped file"):
        asyncio.run(source(tmp_path, paths=["*.*"]).check())


def test_reading_stops_when_nobody_waits_any_longer(tmp_path: Path) -> None:
    write_case(tmp_path, "ndjson", ".gz")
    opened = source(tmp_path)
    [shard] = opened.plan(Scope(), DAY)
    cursor = asyncio.run(opened.fetch(shard, None)).cursor
    fresh = source(tmp_path)
    for patience in (5, 15):  # while it goes to where the page begins, and while it reads the page
        turns = iter(range(100))
        with pytest.raises(Abandoned):
            fresh._fetch(shard, cursor, lambda turns=turns, patience=patience: next(turns) == patience)  # type: ignore[misc]
        assert next(turns) == patience + 1
    assert not fresh._open._readings


class Endless(FilesSource):
    """Reads until nobody waits any longer."""

    def _fetch(self, shard: ShardKey, cursor: str | None, is_abandoned: Callable[[], bool]) -> Page:
        self.has_begun.set()
        while not is_abandoned():
            pass
        raise Abandoned

    has_begun = threading.Event()


def test_a_fetch_that_is_cancelled_leaves_no_thread_at_work(tmp_path: Path) -> None:
    """The loop waits for its threads, and would not end."""
    write_case(tmp_path, "csv", "")
    opened = source(tmp_path, kind=Endless)
    [shard] = opened.plan(Scope(), DAY)

    async def run() -> None:
        fetching = asyncio.create_task(opened.fetch(shard, None))
        assert await asyncio.to_thread(Endless.has_begun.wait, 30)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching

    asyncio.run(run())


def test_what_is_put_back_after_the_end_is_closed(tmp_path: Path) -> None:
    write_case(tmp_path, "csv", "")

    async def run() -> None:
        opened = source(tmp_path)
        [shard] = opened.plan(Scope(), DAY)
        await opened.fetch(shard, None)
        assert len(opened._open._readings) == 1
        await opened.close()
        assert (await opened.fetch(shard, None)).received == PAGE
        assert not opened._open._readings

    asyncio.run(run())


@pytest.mark.parametrize(("ending", "compression"), [("parquet", ""), ("ndjson", ".zst")])
def test_what_needs_pyarrow_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, compression: str
) -> None:
    write_case(tmp_path, ending, compression)
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(FileUnusable, match="needs pyarrow, which is not installed") as told:
        asyncio.run(source(tmp_path).check())
    assert told.value.next_step == "pip install 'waypost[files]'"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.EIO, "Input/output error"), ProviderUnavailable),
        (OSError(errno.ESTALE, "Stale file handle"), ProviderUnavailable),
        (PermissionError(errno.EACCES, "Permission denied"), FileUnusable),
        (gzip.BadGzipFile("CRC check failed"), FileUnusable),
    ],
)
def test_trouble_that_may_pass_is_worth_another_try(error: OSError, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"places\.csv cannot be read"), telling(Path("places.csv")):
        raise error
