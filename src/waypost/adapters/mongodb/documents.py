"""Jobs as documents, and the filters and updates that say when a document may change and how.

Updates are pipelines, because only those know the store's clock (`$$NOW`). There a text that begins with a dollar sign
would be read as a field's name, so every value from outside goes in as a literal.
"""

import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import UNFINISHED, Job, Lease, NewJob, Status

Document = dict[str, Any]

_COUNTER = re.compile(r"[A-Za-z_]+")

DUE = {"status": "pending", "$expr": {"$lte": ["$not_before", "$$NOW"]}}
EXPIRED = {"status": "leased", "$expr": {"$lt": ["$lease_until", "$$NOW"]}}
# The store's clock in microseconds, for updates: MongoDB's own dates end at milliseconds, which would turn two requests
# that were sent one after the other into a tie. As a number it counts milliseconds.
NOW_US: Document = {"$multiply": [{"$toLong": "$$NOW"}, 1000]}
NO_LEASE = {"lease_owner": None, "lease_until": None}


def literal(value: Any) -> Document:
    return {"$literal": value}


def later(seconds: float) -> Document:
    """A time this many seconds from now on the store's clock, which counts in milliseconds."""
    return {"$add": ["$$NOW", round(seconds * 1000)]}


def of_group(group: str | None) -> Document:
    """Jobs of the group, including those that it has cancelled."""
    return {} if group is None else {"groups.group": group}


def wanted_by(group: str | None) -> Document:
    """Jobs that the group waits for. A group that joined before there was a way to cancel has no mark, and waits."""
    return {} if group is None else {"groups": {"$elemMatch": {"group": group, "cancelled": {"$ne": True}}}}


def not_wanted_by(group: str) -> Document:
    return {"groups": {"$not": wanted_by(group)["groups"]}}


def cancellable(group: str) -> Document:
    return {"status": {"$in": list(UNFINISHED)}, **wanted_by(group)}


def wanted_by_others(group: str) -> Document:
    return {"$elemMatch": {"group": {"$ne": group}, "cancelled": {"$ne": True}}}


def held(lease: Lease) -> Document:
    """The job, as long as the lease's fence is current."""
    return {"_id": lease.job_id, "fence": lease.fence, "status": "leased"}


def all_held(leases: Collection[Lease]) -> Document:
    """The jobs whose leases are current. No two leases have the same fence, so pairs need not be compared."""
    return {
        "_id": {"$in": [lease.job_id for lease in leases]},
        "fence": {"$in": [lease.fence for lease in leases]},
        "status": "leased",
    }


def extending(lease: float) -> list[Document]:
    return [{"$set": {"lease_until": later(lease)}}]


def burying() -> list[Document]:
    return [
        {
            "$set": {
                **NO_LEASE,
                "status": "dead",
                "finished_at": "$$NOW",
                "last_error_code": "lease-expired",
                "last_error_message": "its workers stopped without a word, again and again",
                "last_error_at": "$$NOW",
            }
        }
    ]


def counting(counted: Mapping[str, int], **also: Any) -> list[Document]:
    """Writes down what was counted, and sets other fields with it."""
    for name in counted:
        if not _COUNTER.fullmatch(name):
            # A dot or a dollar sign would reach into other fields.
            raise ValueError(f"{name!r} is not a counter's name; use letters and _")
    counters = {
        f"counters.{name}": {"$add": [{"$ifNull": [f"$counters.{name}", 0]}, number]}
        for name, number in counted.items()
        if number
    }
    return [{"$set": {**counters, **also}}]


def ending(status: Status, counted: Mapping[str, int], *, delay: float = 0.0, **also: Any) -> list[Document]:
    """Moves a job from leased to another status; when that is pending, it is due again after `delay` seconds."""
    finished_at = None if status == "pending" else "$$NOW"
    return counting(counted, status=status, **NO_LEASE, not_before=later(delay), finished_at=finished_at, **also)


def joining(group: str) -> list[Document]:
    """The group waits for the job from here on, even if it had cancelled."""
    membership = {"group": literal(group), "counters_before": "$counters"}
    is_member = {"$in": [literal(group), "$groups.group"]}
    joined = {"$concatArrays": ["$groups", [membership]]}
    return [{"$set": {"groups": {"$cond": [is_member, _marking(group, cancelled=False), joined]}}}]


def leaving(group: str, **also: Any) -> list[Document]:
    """The group no longer waits for the job; it stays a member, so that what it did can still be reported."""
    return [{"$set": {"groups": _marking(group, cancelled=True), **also}}]


def cancelling(group: str) -> list[Document]:
    return leaving(group, **NO_LEASE, status="cancelled", finished_at="$$NOW")


def _marking(group: str, *, cancelled: bool) -> Document:
    marked = {"$mergeObjects": ["$$this", {"cancelled": cancelled}]}
    is_mine = {"$eq": ["$$this.group", literal(group)]}
    return {"$map": {"input": "$groups", "in": {"$cond": [is_mine, marked, "$$this"]}}}


def new_document(job: NewJob, now: datetime, groups: Collection[str]) -> Document:
    return {
        "_id": str(new_id()),
        "shard": job.shard,
        "status": "pending",
        **NO_LEASE,
        "fence": 0,
        "attempts": 0,
        "attempts_total": 0,
        "failures": 0,
        "priority": job.priority,
        "not_before": now + timedelta(seconds=job.delay),
        "cursor": None,
        "counters": {},
        "last_error_code": None,
        "last_error_message": None,
        "last_error_at": None,
        "created_at": now,
        "finished_at": None,
        # Groups that wait for the job, and what it had counted when they began to; `cancelled` when they no longer do.
        "groups": [{"group": group, "counters_before": {}} for group in groups],
    }


LEASE_FIELDS = {"shard": 1, "fence": 1, "attempts": 1, "cursor": 1, "failures": 1}


def to_lease(document: Document) -> Lease:
    shard, fence, attempts, cursor, failures = (document[name] for name in LEASE_FIELDS)
    return Lease(document["_id"], shard, int(fence), attempts, cursor, failures)


def to_job(document: Document) -> Job:
    # By name: a newer release may have added fields.
    known = {name: document[name] for name in Job.__struct_fields__ if name != "id"}
    counters = {name: int(number) for name, number in document["counters"].items()}
    return Job(id=document["_id"], **{**known, "fence": int(document["fence"]), "counters": counters})


def tallying(group: str) -> list[Document]:
    """One row for each status and counter, with their sum; the counter without a name counts the jobs themselves.

    Jobs that the group cancelled and others go on with count as cancelled.
    """
    mine = {"$first": {"$filter": {"input": "$groups", "cond": {"$eq": ["$$this.group", literal(group)]}}}}
    before = {"$getField": {"field": "counters_before", "input": mine}}
    left = {"$eq": [{"$getField": {"field": "cancelled", "input": mine}}, True]}
    goes_on = {"$in": ["$status", list(UNFINISHED)]}
    status = {"$cond": [{"$and": [left, goes_on]}, "cancelled", "$status"]}
    minus = {
        "$map": {"input": {"$objectToArray": before}, "in": {"k": "$$this.k", "v": {"$multiply": ["$$this.v", -1]}}}
    }
    parts = [[{"k": "", "v": 1}], {"$objectToArray": "$counters"}, minus]
    return [
        {"$match": {"groups.group": group}},
        {"$project": {"status": status, "counted": {"$concatArrays": parts}}},
        {"$unwind": "$counted"},
        {"$group": {"_id": {"status": "$status", "counter": "$counted.k"}, "sum": {"$sum": "$counted.v"}}},
    ]
