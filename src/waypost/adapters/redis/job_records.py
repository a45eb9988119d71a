"""Jobs as the scripts take and return them, and the sorted sets in which they are looked up by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import msgspec

from waypost.kernel.clock import from_us
from waypost.kernel.ids import new_id
from waypost.scaling.jobs.job import Job, NewJob, Status

_COUNTER = "counter:"


@dataclass(frozen=True)
class Index:
    suffix: str
    # From where to where, as ZRANGEBYLEX takes it.
    first: bytes = b"-"
    last: bytes = b"+"
    # Whether the names are ids, hence in the order of enqueueing.
    in_order: bool = True

    @staticmethod
    def id_of(name: str) -> str:
        return name.rpartition("\0")[2]


def by_status(status: Status | None) -> Index:
    return Index("ids" if status is None else f"ids:{status}")


def by_group(group: str) -> Index:
    return Index(f"members:{group}")


def by_prefix(prefix: str) -> Index:
    # No UTF-8 text has a byte 255, so it stands behind whatever begins with the prefix.
    return Index("names", b"[" + prefix.encode(), b"(" + prefix.encode() + b"\xff", in_order=False)


def microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)


def json(value: object) -> bytes:
    return msgspec.json.encode(value)


def new_job_arguments(jobs: Sequence[NewJob]) -> bytes:
    return json(
        [
            {"id": str(new_id()), "shard": job.shard, "priority": job.priority, "delay": microseconds(job.delay)}
            for job in jobs
        ]
    )


def pairs(flat: Sequence[str]) -> dict[str, str]:
    """Pairs what Redis returns for a hash: names and values in turn."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def counters(fields: Mapping[str, str]) -> dict[str, int]:
    return {name.removeprefix(_COUNTER): int(value) for name, value in fields.items() if name.startswith(_COUNTER)}


def to_job(job_id: str, record: Sequence[str]) -> Job:
    fields = pairs(record)
    return Job(
        id=job_id,
        shard=fields["shard"],
        status=cast("Status", fields["status"]),
        lease_owner=fields.get("owner") or None,
        lease_until=_moment(fields.get("lease_until")),
        fence=int(fields["fence"]),
        attempts=int(fields["attempts"]),
        attempts_total=int(fields["attempts_total"]),
        failures=int(fields["failures"]),
        priority=int(fields["priority"]),
        not_before=from_us(int(fields["not_before"])),
        cursor=fields.get("cursor"),
        counters=counters(fields),
        last_error_code=fields.get("error_code"),
        last_error_message=fields.get("error_message"),
        last_error_at=_moment(fields.get("error_at")),
        created_at=from_us(int(fields["created_at"])),
        finished_at=_moment(fields.get("finished_at")),
    )


def _moment(value: str | None) -> datetime | None:
    return from_us(int(value)) if value else None
