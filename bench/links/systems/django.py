"""django-link-shortener: links and the number of their visits in PostgreSQL, by gunicorn."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from subprocess import run

import asyncpg

from bench.jobs.database import Database
from bench.links.systems import System
from bench.places.systems import Serving
from bench.places.systems.starting import bench_python, plain_environ, serving
from support.servers.sharing import free_port
from waypost.sharing.links.link import Link

NAME = "django-link-shortener"
# The module that it brings.
PACKAGE = "shortener"
_ROOT = Path(__file__).parents[3]
_USER = """
insert into auth_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
values ('', false, 'somebody', '', '', '', false, true, now()) returning id
"""
_COLUMNS = ["full_url", "short_url", "usage_count", "max_count", "lifespan", "date_created", "date_expired", "user_id"]
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)


def django(database: Database, folder: Path, links: Sequence[Link]) -> System:
    return System(NAME, links, lambda link: f"/{link.phrase}/", lambda core: _serve(database, folder, links, core))


@contextmanager
def _serve(database: Database, folder: Path, links: Sequence[Link], core: int) -> Iterator[Serving]:
    """One process with threads, whose connections to the database stay open."""
    folder.mkdir()
    env = plain_environ(
        PYTHONPATH=str(_ROOT),
        DJANGO_SETTINGS_MODULE="bench.links.programs.django_settings",
        BENCH_PORT=str(database.port),
    )
    run([bench_python(), "-m", "django", "migrate"], env=env, check=True, capture_output=True)
    asyncio.run(_fill(database.client_url, links))
    port = free_port()
    command = [bench_python(), "-m", "gunicorn", "django.core.wsgi:get_wsgi_application()", "--workers", "1"]
    threads = ["--worker-class", "gthread", "--threads", "8", "--keep-alive", "75", "--log-level", "warning"]
    url = f"http://127.0.0.1:{port}"
    # There is no such link, and it says so with 200.
    with serving(
        [*command, *threads, "--bind", f"127.0.0.1:{port}"], url=url, ready="/-/", core=core, folder=folder, env=env
    ) as started:
        yield started


async def _fill(url: str, links: Sequence[Link]) -> None:
    connection = await asyncpg.connect(url)
    try:
        user = await connection.fetchval(_USER)
        rows = [(link.target, link.phrase, 0, -1, -1, link.created_at, _NEVER, user) for link in links]
        await connection.copy_records_to_table("shortener_urlmap", columns=_COLUMNS, records=rows)
        await connection.execute("vacuum (analyze) shortener_urlmap")
    finally:
        await connection.close()
