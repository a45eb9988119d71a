"""pygeoapi: the OGC's reference server in Python, over PostGIS."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import run
from urllib.parse import quote

from bench.jobs.database import Database
from bench.places.questions import BOX_LIMIT, TEXT_LIMIT, Kind, Question
from bench.places.systems import Ask, Serving, System
from bench.places.systems.starting import bench_python, plain_environ, serving
from support.servers.sharing import free_port

_ITEMS = "/collections/places/items"
_CONFIGURATION = """
server:
  bind: {{host: 127.0.0.1, port: {port}}}
  url: http://127.0.0.1:{port}
  mimetype: application/json; charset=UTF-8
  encoding: utf-8
  gzip: false
  languages: [en-US]
  cors: false
  pretty_print: false
  limits: {{default_items: 10, max_items: 1000}}
  map: {{url: 'https://tile.example.org/{{z}}/{{x}}/{{y}}.png', attribution: none}}
logging: {{level: ERROR}}
metadata:
  identification:
    title: bench
    description: bench
    keywords: [bench]
    keywords_type: theme
    terms_of_service: none
    url: https://example.org
  license: {{name: none, url: https://example.org}}
  provider: {{name: none, url: https://example.org}}
  contact: {{name: none}}
resources:
  places:
    type: collection
    title: places
    description: places
    keywords: [places]
    links: []
    extents: {{spatial: {{bbox: [-180, -90, 180, 90], crs: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'}}}}
    providers:
      - type: feature
        name: PostgreSQL
        data: &data {{host: 127.0.0.1, port: {database.port}, dbname: {database.name}, user: app, password: none,
          search_path: [public]}}
        id_field: id
        table: places
        geom_field: geom
      - type: tile
        name: MVT-postgresql
        data: *data
        id_field: id
        table: places
        geom_field: geom
        storage_crs: http://www.opengis.net/def/crs/EPSG/0/4326
        options: {{zoom: {{min: 0, max: 16}}}}
        format: {{name: pbf, mimetype: application/vnd.mapbox-vector-tile}}
"""


def _text(asked: Question) -> str:
    wanted = quote(f"name LIKE '{asked.text}%'")
    return f"{_ITEMS}?f=json&filter-lang=cql-text&filter={wanted}&limit={TEXT_LIMIT}"


def _tile(asked: Question) -> str:
    zoom, x, y = asked.tile
    return f"/collections/places/tiles/WebMercatorQuad/{zoom}/{y}/{x}?f=mvt"


_PATHS: dict[Kind, Ask] = {
    "by id": lambda asked: f"{_ITEMS}/{asked.place_id}?f=json",
    "box of 100": lambda asked: f"{_ITEMS}?f=json&bbox={','.join(map(str, asked.box))}&limit={BOX_LIMIT}",
    "text prefix": _text,
    "tile": _tile,
}


def pygeoapi(database: Database, folder: Path) -> System:
    return System("pygeoapi", _PATHS, lambda core: _serve(database, folder, core))


@contextmanager
def _serve(database: Database, folder: Path, core: int) -> Iterator[Serving]:
    port = free_port()
    folder.mkdir()
    configuration, described = folder / "pygeoapi.yml", folder / "openapi.yml"
    configuration.write_text(_CONFIGURATION.format(port=port, database=database))
    env = plain_environ(PYGEOAPI_CONFIG=str(configuration), PYGEOAPI_OPENAPI=str(described))
    describe = [str(Path(bench_python()).with_name("pygeoapi")), "openapi", "generate", str(configuration)]
    run([*describe, "--output-file", str(described)], env=env, cwd=folder, check=True, capture_output=True)
    command = [bench_python(), "-m", "uvicorn", "pygeoapi.starlette_app:APP", "--port", str(port), "--workers", "1"]
    quiet = ["--loop", "uvloop", "--http", "httptools", "--log-level", "warning", "--no-access-log"]
    url, ready = f"http://127.0.0.1:{port}", f"{_ITEMS}?f=json&limit=1"
    with serving([*command, *quiet], url=url, ready=ready, core=core, folder=folder, env=env) as started:
        yield started
