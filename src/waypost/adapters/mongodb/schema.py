"""Collections, indexes and the schema's version, made by `waypost db migrate` and checked by every role."""

from typing import Any

from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.asynchronous.database import AsyncDatabase

from waypost.adapters.errors import StoreTooNew, StoreTooOld
from waypost.adapters.migrations import unreleased

PENDING, PENDING_BY_GROUP, LEASED, GROUPS = "pending", "pending_by_group", "leased", "groups"
LIVE, BY_SHARD, BY_PLACE, BY_FENCE, UNFINISHED = "live", "by_shard", "by_place", "by_fence", "unfinished"
ENDED, BY_AGE = "ended", "by_age"
BY_IMPORT = "by_import"

_DUE_ORDER = [("priority", DESCENDING), ("not_before", ASCENDING), ("_id", ASCENDING)]
# Finished jobs are in none of the indexes that claiming reads, so that it costs the same however many there are.
_JOBS = [
    IndexModel("shard", name="shard", unique=True),
    # The status is the same in the whole index, but comes first: without an equality in front, the planner would not
    # skip what is not yet due, and a crowd of jobs that wait for another try would hide those of lower priority.
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
    IndexModel([("groups.group", ASCENDING), ("_id", ASCENDING)], name=GROUPS),
    # For forgetting the oldest.
    IndexModel([("status", ASCENDING), ("finished_at", ASCENDING)], name=ENDED),
]
_PLACES = [
    IndexModel("id", name="id", unique=True),
    # The flag is the same in the whole index, but with it the index alone can count. With the id, places of one number
    # can be gone through in bounded steps.
    IndexModel(
        [("live", ASCENDING), ("source", ASCENDING), ("area", ASCENDING), ("number", ASCENDING), ("_id", ASCENDING)],
        name=LIVE,
        partialFilterExpression={"live": True},
    ),
]
_CANDIDATES = [
    IndexModel([("shard", ASCENDING), ("external_id", ASCENDING)], name=BY_SHARD, unique=True),
    IndexModel("external_id", name=BY_PLACE),
]
_REJECTS = [
    IndexModel([("shard", ASCENDING), ("record_hash", ASCENDING)], name=BY_SHARD, unique=True),
    IndexModel("seen_at", name=BY_AGE),
]
_IMPORTS = [IndexModel("finished_at", name=BY_AGE)]
_ANSWERS = [IndexModel("requested_at", name=BY_AGE)]
_REMOVALS = [IndexModel("import", name=BY_IMPORT), IndexModel("judged_at", name=BY_AGE)]
_SHARDS = [
    IndexModel("fence", name=BY_FENCE),
    IndexModel([("done", ASCENDING), ("_id", ASCENDING)], name=UNFINISHED, partialFilterExpression={"done": False}),
]

# What this code makes and knows, a name for each version. A change expands first and contracts a release later: only a
# contracting one raises the oldest code that may still touch the store.
NAMES = ("schema",)
VERSION = len(NAMES)
OLDEST_CODE = 1
_ANOTHER = "name another database in the store's URL"


async def migrate(database: AsyncDatabase[dict[str, Any]]) -> list[str]:
    """Brings the schema up to date; safe when many processes do it at once, and after one that died half way.

    Returns the names of what was missing. Everything is made again, which changes nothing that is there.
    """
    version = await recorded_version(database)
    if version >= VERSION:
        return []
    await database.jobs.create_indexes(_JOBS)
    await database.counters.update_one({"_id": "fence"}, {"$setOnInsert": {"last": 0}}, upsert=True)
    await database.places.create_indexes(_PLACES)
    await database.candidates.create_indexes(_CANDIDATES)
    await database.rejects.create_indexes(_REJECTS)
    await database.shards.create_indexes(_SHARDS)
    # Transactions should find the collection there; an index on the id, which each has anyway, makes only that.
    await database.outbox.create_indexes([IndexModel("_id")])
    await database.imports.create_indexes(_IMPORTS)
    await database.answers.create_indexes(_ANSWERS)
    await database.passes.create_indexes([IndexModel("_id")])
    await database.marks.create_indexes([IndexModel("_id")])
    await database.removals.create_indexes(_REMOVALS)
    # Last, so that a half-made schema is not taken for a whole one; and the version never goes down.
    newest = {"version": VERSION, "oldest_code": OLDEST_CODE}
    await database.schema.update_one({"_id": "schema"}, {"$max": newest, "$set": {"first": NAMES[0]}}, upsert=True)
    return list(NAMES[version:])


async def refuse_foreign(database: AsyncDatabase[dict[str, Any]]) -> None:
    """Refuses a schema that only newer code may touch, or one from before the first was settled."""
    found = await _recorded(database)
    oldest_code = found.get("oldest_code", 0)
    if oldest_code > VERSION:
        raise StoreTooNew(
            f"the store was changed by a newer Waypost (it needs schema {oldest_code}, this one knows {VERSION})",
            next_step=f"install the newer release, or {_ANOTHER}",
        )
    if found and found.get("first") != NAMES[0]:
        raise unreleased(_ANOTHER)


async def refuse_older(database: AsyncDatabase[dict[str, Any]]) -> None:
    version = await recorded_version(database)
    if version < VERSION:
        raise StoreTooOld(
            f"the store has schema {version} and this release needs {VERSION}; run `waypost db migrate` first",
            next_step="waypost db migrate",
        )


async def recorded_version(database: AsyncDatabase[dict[str, Any]]) -> int:
    return int((await _recorded(database)).get("version", 0))


async def _recorded(database: AsyncDatabase[dict[str, Any]]) -> dict[str, Any]:
    return await database.schema.find_one({"_id": "schema"}) or {}
