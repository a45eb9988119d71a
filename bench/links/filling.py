"""Links by the million, straight into the tables: what a store has after years of use."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench.links.backends import Backend
from waypost.adapters.link_rows import columns_of
from waypost.bootstrap.stores import SharingStores
from waypost.kernel.ids import new_id
from waypost.sharing.links.link import Link
from waypost.sharing.phrases.drawing import Drawing
from waypost.sharing.phrases.formats import join
from waypost.sharing.phrases.vocabulary import Vocabularies

LANGUAGE = "en"
# As the service has it: this part of a space is given out, then another one opens.
_FILL = 0.01
_AT_ONCE = 10_000
_FIRST = datetime(2023, 1, 1, tzinfo=UTC)
_BETWEEN = timedelta(seconds=9)
_SECTIONS = ("news", "products/outdoor", "docs/v2/reference", "events", "blog/2026/11", "share")
_TAGS = tuple(f"campaign-{number}" for number in range(50))
Write = Callable[[Sequence[Link]], Awaitable[None]]

_PIECE = 16 * 1024 * 1024
_PREWARM = (
    "create extension if not exists pg_prewarm",
    "select pg_prewarm(oid::regclass, 'read') from pg_class where relname ~ '^link' and relkind in ('r', 'i')",
)
_PRAGMAS = "pragma synchronous = off; pragma cache_size = -1000000; pragma temp_store = memory;"


class Filling:
    """`sample` are some of the links, old and new."""

    def __init__(self, backend: Backend, stores: SharingStores, *, sample: int) -> None:
        self._backend = backend
        self._stores = stores
        self._drawing = Drawing(stores.spaces, Vocabularies(), block=_AT_ONCE, fill=_FILL)
        self._rng = random.Random(1)  # noqa: S311 - invents links, guards nothing
        self._wanted = sample
        self.count = 0
        self.sample: list[Link] = []

    async def fill(self, count: int) -> None:
        chosen: list[Link] = []
        share = min(1.0, self._wanted / count)
        async with _writing(self._backend) as write:
            while self.count < count:
                links = [await self._invent() for _ in range(min(_AT_ONCE, count - self.count))]
                await write(links)
                chosen += [link for link in links if self._rng.random() < share]
        await _vacuum(self._backend)
        # One that looks like another was not kept.
        kept = [link for link in chosen if await self._stores.links.get(link.id)]
        self.sample = self._rng.sample(kept, len(kept))

    async def warm(self) -> None:
        """Brings the store into the machine's memory, where that of a busy server is, and was until it was filled."""
        if self._backend.is_sqlite:
            await asyncio.to_thread(_read, self._backend.path)
        else:
            await _execute(self._backend, *_PREWARM)

    async def new_link(self) -> Link:
        """As the next one to be made."""
        return await self._invent()

    async def draw(self) -> str:
        return join(await self._drawing.draw(LANGUAGE), "kebab")

    async def _invent(self) -> Link:
        dice, number = self._rng, self.count
        self.count += 1
        at = _FIRST + number * _BETWEEN
        tags = dice.sample(_TAGS, dice.randrange(1, 3)) if number % 10 == 0 else []
        phrase = await self.draw()
        return Link(
            id=str(new_id()),
            phrase=phrase,
            target=f"https://www{number % 977}.example.org/{dice.choice(_SECTIONS)}/{phrase}-{number}?utm_source=mail",
            language=LANGUAGE,
            theme=None,
            format="kebab",
            created_at=at,
            updated_at=at,
            title=f"What we found out about {phrase}" if number % 3 == 0 else "",
            tags=tuple(tags),
        )


def _writing(backend: Backend) -> AbstractAsyncContextManager[Write]:
    return _into_file(backend.path) if backend.is_sqlite else _into_server(backend.url)


@asynccontextmanager
async def _into_server(url: str) -> AsyncIterator[Write]:
    connection = await asyncpg.connect(url, command_timeout=3600)

    async def write(links: Sequence[Link]) -> None:
        rows = [columns_of(link) for link in links]
        names = list(rows[0])
        await connection.copy_records_to_table(
            "arrived", columns=names, records=[[row[name] for name in names] for row in rows]
        )
        await connection.execute("insert into links select * from arrived on conflict do nothing")
        await connection.execute("truncate arrived")
        await connection.copy_records_to_table("link_tags", columns=["tag", "created_at", "id"], records=_tags(links))

    try:
        await connection.execute("create temporary table arrived (like links)")
        yield write
    finally:
        await connection.close()


@asynccontextmanager
async def _into_file(path: Path) -> AsyncIterator[Write]:
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.executescript(_PRAGMAS)
        yield lambda links: asyncio.to_thread(_write_rows, connection, links)


def _write_rows(connection: sqlite3.Connection, links: Sequence[Link]) -> None:
    rows = [columns_of(link) for link in links]
    names = list(rows[0])
    insert = f"insert or ignore into links ({', '.join(names)}) values ({', '.join('?' * len(names))})"  # noqa: S608 - our own names
    connection.executemany(insert, [[_plain(row[name]) for name in names] for row in rows])
    connection.executemany("insert into link_tags values (?, ?, ?)", [[*map(_plain, row)] for row in _tags(links)])
    connection.commit()


def _tags(links: Sequence[Link]) -> list[tuple[Any, ...]]:
    return [(tag, link.created_at, link.id) for link in links for tag in link.tags]


async def _vacuum(backend: Backend) -> None:
    """What a database does by itself after a while."""
    if backend.is_sqlite:
        with closing(sqlite3.connect(backend.path, isolation_level=None)) as connection:
            connection.execute("analyze")
            connection.execute("pragma wal_checkpoint(truncate)")
    else:
        await _execute(backend, "vacuum (analyze) links", "checkpoint")


async def _execute(backend: Backend, *statements: str) -> None:
    connection = await asyncpg.connect(backend.url, command_timeout=3600)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _read(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(_PIECE):
            pass


def _plain(value: Any) -> Any:
    """As our tables on SQLite have it: times in microseconds."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1_000_000)
    return int(value) if isinstance(value, bool) else value
