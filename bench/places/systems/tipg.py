"""tipg: OGC API Features and Tiles over PostGIS, asynchronous, by uvicorn."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from bench.jobs.database import Database
from bench.places.questions import BOX_LIMIT, TEXT_LIMIT, Kind, Question
from bench.places.systems import Ask, Serving, System
from bench.places.systems.starting import bench_python, plain_environ, serving
from support.servers.sharing import free_port

_ITEMS = "/collections/public.places/items"


def _text(asked: Question) -> str:
    wanted = quote(f"name LIKE '{asked.text}%'")
    return f"{_ITEMS}?f=geojson&filter-lang=cql2-text&filter={wanted}&limit={TEXT_LIMIT}"


_PATHS: dict[Kind, Ask] = {
    "by id": lambda asked: f"{_ITEMS}/{asked.place_id}?f=geojson",
    "box of 100": lambda asked: f"{_ITEMS}?f=geojson&bbox={','.join(map(str, asked.box))}&limit={BOX_LIMIT}",
    "text prefix": _text,
    "tile": lambda asked: "/collections/public.places/tiles/WebMercatorQuad/{}/{}/{}".format(*asked.tile),
}


def tipg(database: Database, folder: Path) -> System:
    return System("tipg", _PATHS, lambda core: _serve(database, folder, core))


@contextmanager
def _serve(database: Database, folder: Path, core: int) -> Iterator[Serving]:
    """Without what is for development, with connections enough for its load, and with a catalogue read once."""
    port = free_port()
    folder.mkdir()
    command = [bench_python(), "-m", "uvicorn", "tipg.main:app", "--port", str(port), "--workers", "1"]
    quiet = ["--loop", "uvloop", "--http", "httptools", "--log-level", "warning", "--no-access-log"]
    env = plain_environ(
        DATABASE_URL=database.client_url,
        DB_MIN_CONN_SIZE="10",
        DB_MAX_CONN_SIZE="10",
        DB_MAX_QUERIES="1000000000",
        TIPG_DB_SCHEMAS='["public"]',
        TIPG_CATALOG_TTL="0",
        TIPG_DEBUG="FALSE",
    )
    url = f"http://127.0.0.1:{port}"
    with serving([*command, *quiet], url=url, ready=f"{_ITEMS}?limit=1", core=core, folder=folder, env=env) as started:
        yield started
