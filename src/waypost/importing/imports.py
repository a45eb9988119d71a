"""An import: one run over a scope, with an id and a report."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from waypost.importing.source import Scope
from waypost.scaling.jobs.job import Tally

ImportStatus = Literal["running", "done", "failed", "cancelled"]


class Import(msgspec.Struct, frozen=True):
    id: str
    source: str
    scope: Scope
    status: ImportStatus
    started_at: datetime
    finished_at: datetime | None = None


class Standing(msgspec.Struct, frozen=True):
    """How an import stands; `shards` counts them by status."""

    id: str
    source: str
    scope: Scope
    status: ImportStatus
    started_at: datetime
    finished_at: datetime | None
    shards: Mapping[str, int]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did; `shards` counts them by status."""

    id: str
    added: int
    changed: int
    unchanged: int
    removed: int
    rejected: int
    requests: int
    retries: int
    refusals: int
    shards: Mapping[str, int]
    seconds: float


class ImportStore(Protocol):
    async def start(self, started: Import) -> None: ...

    async def finish(self, import_id: str, status: ImportStatus) -> None: ...

    async def get(self, import_id: str) -> Import | None: ...

    async def latest(self, limit: int) -> Sequence[Import]:
        """The newest first."""
        ...


def standing(known: Import, tally: Tally) -> Standing:
    """By its jobs, with which others may have gone on since it was written down; once they are pruned, by that."""
    status = known.status
    if tally.total and not tally.unfinished:
        status = "failed" if tally.jobs.get("dead") else "done"
    shards: dict[str, int] = {name: count for name, count in tally.jobs.items() if count}
    return Standing(known.id, known.source, known.scope, status, known.started_at, known.finished_at, shards)


def report(import_id: str, tally: Tally, seconds: float) -> Report:
    counted = tally.counters
    return Report(
        id=import_id,
        added=counted.get("added", 0),
        changed=counted.get("changed", 0),
        unchanged=counted.get("unchanged", 0),
        removed=0,
        rejected=counted.get("rejected", 0),
        requests=counted.get("requests", 0),
        retries=counted.get("retries", 0),
        refusals=counted.get("refusals", 0),
        shards={status: count for status, count in tally.jobs.items() if count},
        seconds=round(seconds, 3),
    )
