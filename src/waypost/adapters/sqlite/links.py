"""Links, phrase spaces and visits on SQLite."""

import sqlite3
from collections.abc import Sequence

import msgspec

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite.database import SqliteDatabase, from_us, from_us_or_none, to_us
from waypost.sharing.links.link import Link, PhraseTaken
from waypost.sharing.links.store import SpaceRecord
from waypost.sharing.phrases.matching import fold_phrase
from waypost.sharing.visits.visit import Visit

_SQL = load_queries(__package__, "links.sql")


class SqliteLinkStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def add(self, link: Link) -> None:
        row = msgspec.structs.asdict(link) | {
            "folded": fold_phrase(link.phrase),
            "created_at": to_us(link.created_at),
            "expires_at": to_us(link.expires_at) if link.expires_at else None,
        }
        if not await self._database.write(lambda tx: tx.execute(_SQL["add"], row).rowcount):
            raise PhraseTaken(f"the phrase {link.phrase!r} is taken; choose another one")

    async def find(self, phrase: str) -> Link | None:
        row = await self._database.read(lambda c: c.execute(_SQL["find"], {"folded": fold_phrase(phrase)}).fetchone())
        return _to_link(row) if row else None

    async def open_space(self, language: str, theme: str | None, vocabulary: str, key: bytes) -> SpaceRecord:
        wanted = {"language": language, "theme": theme or "", "vocabulary": vocabulary, "key": key}

        def work(tx: sqlite3.Connection) -> SpaceRecord:
            tx.execute(_SQL["open_space"], wanted)
            row = tx.execute(_SQL["space"], wanted).fetchone()
            return SpaceRecord(row["id"], row["key"])

        return await self._database.write(work)

    async def reserve(self, space: int, count: int) -> int:
        wanted = {"id": space, "count": count}
        return await self._database.write(lambda tx: int(tx.execute(_SQL["reserve"], wanted).fetchone()["first"]))


class SqliteVisitStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def append(self, visits: Sequence[Visit]) -> None:
        rows = [{"id": visit.id, "link_id": visit.link_id, "at": to_us(visit.at)} for visit in visits]
        await self._database.write(lambda tx: tx.executemany(_SQL["add_visit"], rows).rowcount)

    async def count(self, link_id: str) -> int:
        return await self._database.read(
            lambda c: int(c.execute(_SQL["count_visits"], {"link_id": link_id}).fetchone()["visits"])
        )


def _to_link(row: sqlite3.Row) -> Link:
    return Link(
        id=row["id"],
        phrase=row["phrase"],
        target=row["target"],
        language=row["language"],
        theme=row["theme"],
        format=row["format"],
        created_at=from_us(row["created_at"]),
        expires_at=from_us_or_none(row["expires_at"]),
        disabled=bool(row["disabled"]),
    )
