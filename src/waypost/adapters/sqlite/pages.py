"""The page commit on SQLite."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec
import xxhash

from waypost.adapters.sqlite import jobs
from waypost.adapters.sqlite.database import SqliteDatabase, from_us, now_us, to_us
from waypost.adapters.sqlite.queries import load_queries
from waypost.importing.source import Fetched, Page, Reject
from waypost.scaling.jobs.job import Lease

_SQL = load_queries("places.sql")


class SqlitePageStore:
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        return from_us(now_us())

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Mapping[str, int]:
        def work(tx: sqlite3.Connection) -> Counter[str]:
            now = now_us()
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            jobs.count(tx, lease, counted)
            changes = Counter(_write(tx, fetched, to_us(requested_at), now) for fetched in page.fetched)
            changes["rejected"] = len(page.rejects)
            for reject in page.rejects:
                _keep(tx, lease.shard, reject, now)
            tx.execute(jobs.SQL["move_cursor"], {"cursor": page.cursor, "id": lease.job_id})
            if page.last:
                jobs.end_lease(tx, lease, changes, status="done", now=now)
            else:
                jobs.count(tx, lease, changes)
            return changes

        return await self._database.write(work)


def _write(tx: sqlite3.Connection, fetched: Fetched, requested_at: int, now: int) -> str:
    """Add or change one place; says which it was."""
    place = msgspec.json.encode(fetched.place)
    row = {
        "external_id": fetched.place.external_id,
        "id": fetched.place.id.bytes,
        "place": place.decode(),
        "record": fetched.record,
        "content_hash": xxhash.xxh3_128_digest(place + b"\n" + fetched.record),
        "requested_at": requested_at,
        "now": now,
    }
    known = tx.execute(_SQL["known"], row).fetchone()
    if known is None:
        tx.execute(_SQL["add"], row)
        return "added"
    # What a later request brought stands, however late this page comes.
    if known["content_hash"] == row["content_hash"] or known["requested_at"] > requested_at:
        return "unchanged"
    tx.execute(_SQL["change"], row)
    return "changed"


def _keep(tx: sqlite3.Connection, shard: str, reject: Reject, now: int) -> None:
    digest = xxhash.xxh3_128_digest(reject.record)
    row = {"shard": shard, "record_hash": digest, "record": reject.record, "reason": reject.reason, "now": now}
    tx.execute(_SQL["reject"], row)
