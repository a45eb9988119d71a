"""The page commit on SQLite."""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec
import xxhash

from waypost.adapters.queries import load_queries
from waypost.adapters.sqlite import jobs
from waypost.adapters.sqlite.database import SqliteDatabase, from_us, now_us, to_us
from waypost.importing.pages import Committed
from waypost.importing.source import Fetched, Page, Reject
from waypost.scaling.jobs.job import Lease, LeaseLost
from waypost.scaling.jobs.store import JobStore

_SQL = load_queries(__package__, "places.sql")


class SqlitePageStore:
    """Pages beside their jobs: one transaction that begins with the fenced write to the job."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def now(self) -> datetime:
        return from_us(now_us())

    async def begin(self, lease: Lease) -> Lease | None:
        return lease

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Committed:
        def work(tx: sqlite3.Connection) -> Committed:
            now = now_us()
            # The fenced write comes first: it fails for a stale worker before anything else is touched.
            jobs.count(tx, lease, counted)
            changes = _write_page(tx, lease.shard, page, to_us(requested_at), now)
            tx.execute(jobs.SQL["move_cursor"], {"cursor": page.cursor, "id": lease.job_id})
            if page.last:
                jobs.end_lease(tx, lease, changes, status="done", now=now)
            else:
                jobs.count(tx, lease, changes)
            return Committed(changes, ended=page.last)

        return await self._database.write(work)


class SqliteApartPageStore:
    """Pages whose jobs are kept in another store. The shard's row here holds fence and cursor and is the authority."""

    def __init__(self, database: SqliteDatabase, job_store: JobStore) -> None:
        self._database = database
        self._jobs = job_store

    async def now(self) -> datetime:
        return from_us(now_us())

    async def highest_fence(self) -> int:
        return await self._database.read(lambda c: int(c.execute(_SQL["highest_fence"]).fetchone()["fence"]))

    async def begin(self, lease: Lease) -> Lease | None:
        def work(tx: sqlite3.Connection) -> Lease | None:
            _raise_fence(tx, lease)
            row = tx.execute(_SQL["shard"], {"shard": lease.shard}).fetchone()
            return None if row["done"] else msgspec.structs.replace(lease, cursor=row["cursor"])

        return await self._database.write(work)

    async def commit(
        self, lease: Lease, page: Page, *, requested_at: datetime, counted: Mapping[str, int]
    ) -> Committed:
        def work(tx: sqlite3.Connection) -> Counter[str]:
            _raise_fence(tx, lease)
            changes = _write_page(tx, lease.shard, page, to_us(requested_at), now_us())
            tx.execute(_SQL["move_shard"], {"shard": lease.shard, "cursor": page.cursor, "done": page.last})
            return changes

        changes = await self._database.write(work)
        # A kill in between loses counters at most: the next holder begins where the shard's row says.
        total = Counter(counted)
        total.update(changes)
        await self._jobs.checkpoint(lease, cursor=page.cursor, counted=total)
        return Committed(changes, ended=False)


def _raise_fence(tx: sqlite3.Connection, lease: Lease) -> None:
    if not tx.execute(_SQL["raise_fence"], {"shard": lease.shard, "fence": lease.fence}).rowcount:
        raise LeaseLost(f"the lease on {lease.shard} (fence {lease.fence}) is older than what the store has seen")


def _write_page(tx: sqlite3.Connection, shard: str, page: Page, requested_at: int, now: int) -> Counter[str]:
    changes = Counter(_write(tx, fetched, requested_at, now) for fetched in page.fetched)
    changes["rejected"] = len(page.rejects)
    for reject in page.rejects:
        _keep(tx, shard, reject, now)
    return changes


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
