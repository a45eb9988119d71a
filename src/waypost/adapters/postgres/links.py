"""Links and phrase spaces on PostgreSQL."""

from typing import Any

from waypost.adapters.postgres.database import PostgresDatabase
from waypost.adapters.queries import load_queries
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.store import SpaceRecord
from waypost.sharing.phrases.matching import fold_phrase

SQL = load_queries(__package__, "links.sql")


class PostgresLinkStore:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def add(self, link: Link) -> None:
        added = await self._database.fetch(
            SQL["add"],
            link.id,
            link.phrase,
            fold_phrase(link.phrase),
            link.target,
            link.language,
            link.theme,
            link.format,
            link.created_at,
            link.expires_at,
            link.disabled,
        )
        if not added:
            raise PhraseTaken(f"the phrase {link.phrase!r} is taken; choose another one")

    async def find(self, phrase: str) -> Link | None:
        rows = await self._database.fetch(SQL["find"], fold_phrase(phrase))
        return _to_link(rows[0]) if rows else None

    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        wanted = (language, theme or "", vocabulary)
        found = await self._database.fetch(SQL["space"], *wanted)
        if not found:
            await self._database.fetch(SQL["open_space"], *wanted, key)
            # Not in the same statement: that would not see the space that another process opened in the meantime.
            found = await self._database.fetch(SQL["space"], *wanted)
        return SpaceRecord(found[0]["id"], found[0]["key"])

    async def reserve(self, space: int, count: int) -> int:
        [row] = await self._database.fetch(SQL["reserve"], space, count)
        return int(row["first"])


def _to_link(row: Any) -> Link:
    # By name: a newer release may have added columns.
    return Link(**{name: row[name] for name in Link.__struct_fields__})
