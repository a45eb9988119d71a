"""The sorted sets in which jobs can be looked up, each sorted by name."""

from dataclasses import dataclass

from waypost.scaling.jobs.job import Status


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
