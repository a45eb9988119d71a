"""Links of the release before are there after an upgrade, and that release goes on working beside the new one."""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.job_store_postgres import clean_database
from support.links import NOON, TARGET, a_link
from waypost.adapters.postgres import migrations as postgres_migrations
from waypost.adapters.postgres.database import PostgresDatabase, run_once
from waypost.adapters.postgres.links import PostgresLinkStore
from waypost.adapters.sqlite import migrations as sqlite_migrations
from waypost.adapters.sqlite.database import SqliteDatabase, to_us
from waypost.adapters.sqlite.links import SqliteLinkStore
from waypost.sharing.links.editing import Changes, edit
from waypost.sharing.links.link import PhraseTaken
from waypost.sharing.links.store import LinkStore, Wanted
from waypost.sharing.links.targets import TargetRules
from waypost.sharing.phrases.matching import fold_phrase, looks

pytestmark = pytest.mark.anyio

BEFORE = 5
# The last looks like the first, which was no reason to refuse it then.
OLD = ["gently-golden-otter", "summer party", "W1ld-M00n-1", "gently-go1den-otter"]

# As the release before has them.
SQLITE_ADD = """
    insert into links (id, phrase, folded, target, language, theme, format, created_at, expires_at, disabled)
    values (?, ?, ?, ?, null, null, 'kebab', ?, null, 0) on conflict (folded) do nothing
"""
POSTGRES_ADD = """
    insert into links (id, phrase, folded, target, language, theme, format, created_at, expires_at, disabled)
    values ($1, $2, $3, $4, null, null, 'kebab', $5, null, false) on conflict (folded) do nothing returning id
"""


def old_row(phrase: str, number: int, at: Any = NOON) -> tuple[Any, ...]:
    # It took targets of this length too, which are longer than an index takes.
    return f"old-{number}", phrase, fold_phrase(phrase), f"{TARGET}/{'x' * 5000 * number}", at


async def check_old_links(links: LinkStore) -> None:
    found = [await links.find(phrase) for phrase in OLD]
    assert [link and link.phrase for link in found] == OLD
    first = found[0]
    assert first
    assert (first.version, first.updated_at, first.owner, first.tags, first.deleted) == (1, NOON, None, (), False)
    assert len((await links.page(Wanted(), None, 10)).links) == 4
    for alike in ("gentiy-golden-otter", "surnmer-party", "wild-moon-l"):
        with pytest.raises(PhraseTaken):
            await links.add(a_link(alike), "local")
    await edit(links, TargetRules(), first, Changes(title="new"), "local")
    [change] = await links.history(first.id)
    assert (change.version, change.before) == (2, first)


async def check_what_the_old_release_adds(links: LinkStore) -> None:
    added = await links.find("added-late")
    assert added
    assert added.updated_at == NOON
    with pytest.raises(PhraseTaken):
        await links.add(a_link("AddedLate"), "local")


async def test_on_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "waypost.db"
    connection = sqlite3.connect(path, isolation_level=None)
    for migration in sqlite_migrations.known()[:BEFORE]:
        sqlite_migrations._apply(connection, migration)
    for number, phrase in enumerate(OLD):
        connection.execute(SQLITE_ADD, old_row(phrase, number, to_us(NOON)))
    database = await SqliteDatabase.open(path)
    await check_old_links(SqliteLinkStore(database))
    connection.execute(SQLITE_ADD, old_row("added-late", 9, to_us(NOON)))
    await check_what_the_old_release_adds(SqliteLinkStore(database))
    kept = connection.execute("select phrase, looks from links where id like 'old-%' and looks is not null").fetchall()
    assert kept == [(phrase, looks(phrase)) for phrase in OLD[:3]]
    connection.close()
    database.close()


async def test_on_postgresql() -> None:
    async with clean_database(migrated=False) as url:
        for migration in postgres_migrations.known()[:BEFORE]:
            await run_once(url, partial(postgres_migrations._apply, migration=migration))

        async def add(connection: Any) -> None:
            for number, phrase in enumerate(OLD):
                await connection.execute(POSTGRES_ADD, *old_row(phrase, number))

        await run_once(url, add)
        database = await PostgresDatabase.open(url, migrating=True)
        await check_old_links(PostgresLinkStore(database))
        await database.fetch(POSTGRES_ADD, *old_row("added-late", 9))
        await check_what_the_old_release_adds(PostgresLinkStore(database))
        rows = await database.fetch("select phrase, looks from links where id like 'old-%' and looks is not null")
        await database.close()
    assert {tuple(row) for row in rows} == {(phrase, looks(phrase)) for phrase in OLD[:3]}
