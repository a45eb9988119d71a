"""SQLite with R*Tree and FTS5 behind FastAPI: what a good programmer makes in an afternoon."""

import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bench.places.questions import BOX_LIMIT, NEAREST, TEXT_LIMIT, Kind
from bench.places.reading import read
from bench.places.systems import Ask, Serving, Stock, System
from bench.places.systems.starting import plain_environ, serving
from support.servers.sharing import free_port

_ROOT = Path(__file__).parents[3]
_MAKE = """
pragma journal_mode = off;
pragma synchronous = off;
create table arrived (cell text, id blob, name text, town text, lon real, lat real, feature blob);
create table places (row integer primary key, id blob, name text, town text, lon real, lat real, feature blob);
create virtual table boxes using rtree (row, west, east, south, north);
create virtual table words using fts5 (
  name, town, content = 'places', content_rowid = 'row', prefix = '2 3 4 5', tokenize = 'unicode61 remove_diacritics 2'
);
"""
# Neighbours lie together, as they do for the others.
_ARRANGE = """
insert into places (id, name, town, lon, lat, feature)
select id, name, town, lon, lat, feature from arrived order by cell;
drop table arrived;
create unique index places_by_id on places (id);
insert into boxes select row, lon, lon, lat, lat from places;
insert into words (rowid, name, town) select row, name, town from places;
insert into words (words) values ('optimize');
analyze;
"""
_PATHS: dict[Kind, Ask] = {
    "by id": lambda asked: f"/places/{asked.place_id}",
    "box of 100": lambda asked: f"/box?bbox={','.join(map(str, asked.box))}&limit={BOX_LIMIT}",
    "nearest 10": lambda asked: f"/near?lat={asked.point[0]}&lon={asked.point[1]}&limit={NEAREST}",
    "text prefix": lambda asked: f"/text?q={quote(asked.text)}&limit={TEXT_LIMIT}",
}


def sqlite(stock: Stock) -> System:
    return System("SQLite", _PATHS, lambda core: _serve(stock, core))


def _fill(stock: Stock, path: Path) -> None:
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.executescript(_MAKE)
        connection.execute("begin")
        connection.executemany("insert into arrived values (?, ?, ?, ?, ?, ?, ?)", _rows(stock.places))
        connection.executescript(_ARRANGE)
    connection.close()


def _rows(path: Path) -> Iterator[tuple[str, bytes, str, str, float, float, bytes]]:
    for line, feature in read(path):
        lon, lat = feature.position
        told = feature.properties
        yield _cell(lon, lat), uuid.UUID(feature.id).bytes, told.name, told.town, lon, lat, line


def _cell(lon: float, lat: float) -> str:
    """The bits of both in turns: a Z-order, in cells of a few hundred metres."""
    x, y = f"{int((lon + 180) * 182):016b}", f"{int((lat + 90) * 364):016b}"
    return "".join(map("".join, zip(x, y, strict=True)))


@contextmanager
def _serve(stock: Stock, core: int) -> Iterator[Serving]:
    folder, port = stock.folder / "sqlite", free_port()
    folder.mkdir()
    path = folder / "places.db"
    _fill(stock, path)
    command = [sys.executable, "-m", "bench.places.programs.sqlite_api", str(path), str(port)]
    env = plain_environ(PYTHONPATH=str(_ROOT))
    url, ready = f"http://127.0.0.1:{port}", "/box?bbox=0,0,0,0&limit=1"
    with serving(command, url=url, ready=ready, core=core, folder=folder, env=env) as started:
        yield started
