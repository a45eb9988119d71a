"""Collections, indexes and the schema's version, made by `waypost db migrate` and checked by every role."""

from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.asynchronous.database import AsyncDatabase

from waypost.adapters.errors import StoreTooNew, StoreTooOld

# What this code makes and knows. A change expands first and contracts a release later: only a contracting one raises
# the oldest code that may still touch the store.
VERSION = 1
OLDEST_CODE = 1

PENDING, PENDING_BY_GROUP, LEASED = "pending", "pending_by_group", "leased"

_DUE_ORDER = [("priority", DESCENDING), ("not_before", ASCENDING), ("_id", ASCENDING)]
# Finished jobs are in none of the indexes that claiming reads, so that it costs the same however many there are.
_INDEXES = [
    IndexModel("shard", name="shard", unique=True),
    # The status is the same in all of it, but begins it: without an equality in front, the planner would not skip what
    # is not yet due, and a crowd of jobs that wait for another try would hide those of lower priority.
    IndexModel([("status", ASCENDING), *_DUE_ORDER], name=PENDING, partialFilterExpression={"status": "pending"}),
    IndexModel(
        [("groups.group", ASCENDING), *_DUE_ORDER],
        name=PENDING_BY_GROUP,
        partialFilterExpression={"status": "pending"},
    ),
    # Unlike PostgreSQL, MongoDB has no cheaper update for a row whose indexed columns stay; so the lease end may be
    # indexed, and looking for expired leases does not read those of the whole fleet.
    IndexModel("lease_until", name=LEASED, partialFilterExpression={"status": "leased"}),
    IndexModel([("status", ASCENDING), ("_id", ASCENDING)], name="dead", partialFilterExpression={"status": "dead"}),
    IndexModel([("groups.group", ASCENDING), ("_id", ASCENDING)], name="groups"),
]


async def migrate(database: AsyncDatabase[dict[str, Any]]) -> None:
    """Bring the schema up to date; safe when many processes do it at once, and after one that died half way."""
    version, _ = await _recorded(database)
    if version >= VERSION:
        return
    await database.jobs.create_indexes(_INDEXES)
    await database.counters.update_one({"_id": "fence"}, {"$setOnInsert": {"last": 0}}, upsert=True)
    # Last, so that nobody takes a half-made schema for a whole one; and never down again.
    newest = {"version": VERSION, "oldest_code": OLDEST_CODE}
    await database.schema.update_one({"_id": "schema"}, {"$max": newest}, upsert=True)


async def refuse_newer(database: AsyncDatabase[dict[str, Any]]) -> None:
    _, oldest_code = await _recorded(database)
    if oldest_code > VERSION:
        raise StoreTooNew(
            f"the store was changed by a newer Waypost (it needs schema {oldest_code}, this one knows {VERSION})",
            next_step="install the newer release, or name another database in the store's URL",
        )


async def refuse_older(database: AsyncDatabase[dict[str, Any]]) -> None:
    version, _ = await _recorded(database)
    if version < VERSION:
        raise StoreTooOld(
            f"the store has schema {version} and this release needs {VERSION}; run `waypost db migrate` first",
            next_step="waypost db migrate",
        )


async def _recorded(database: AsyncDatabase[dict[str, Any]]) -> tuple[int, int]:
    """The schema's version, and the oldest code that it allows."""
    found = await database.schema.find_one({"_id": "schema"}) or {}
    return found.get("version", 0), found.get("oldest_code", 0)
