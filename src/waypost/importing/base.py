"""What most sources have in common; a source of your own may begin here and say only what is different."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date

from waypost.importing.cuts import Axis, IdRange, split
from waypost.importing.pages import PERIODS
from waypost.importing.plan import shards_of
from waypost.importing.source import Extent, Page, PlanAxis, Remembered, Scope
from waypost.places.licence import Licence
from waypost.scaling.jobs.shard_keys import ShardKey


class BaseSource(ABC):
    """By default, one shard holds everything and cannot be cut. You write `fetch`."""

    name: str
    provider: str
    licence: Licence
    plans: frozenset[PlanAxis] = frozenset({"all"})
    cuts: frozenset[Axis] = frozenset()

    @property
    def budget_key(self) -> str | None:
        return budget_key(self.name, self.provider)

    def plan(self, scope: Scope, day: date, import_id: str | None = None) -> list[ShardKey]:
        return shards_of(scope, day, import_id, source=self.name, plans=self.plans)

    async def check(self) -> None:  # noqa: B027 - most need none
        """Checks nothing: the first page will tell."""

    @abstractmethod
    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page: ...

    def question(self, shard: ShardKey, cursor: str | None) -> str | None:  # noqa: ARG002 - others use them
        return None

    async def fetch_if_changed(self, shard: ShardKey, cursor: str | None, known: Remembered) -> Page:  # noqa: ARG002
        return await self.fetch(shard, cursor)

    def extent(self, shard: ShardKey) -> Extent:
        return extent_of(shard)

    def rest(self, shard: ShardKey, page: Page) -> Sequence[ShardKey]:
        return split(shard, self.cuts) if page.truncated else ()

    async def close(self) -> None:  # noqa: B027 - most hold nothing
        pass


def budget_key(name: str, provider: str, key: str = "") -> str:
    """Returns a budget key that is unique to the provider and our key there, and reveals neither."""
    digest = hashlib.blake2s(f"{provider}\n{key}".encode(), digest_size=8).hexdigest()
    return f"{name}:{digest}"


def extent_of(shard: ShardKey) -> Extent:
    """Reads an extent from a key: the parts before the period are the area, and `ids` is the range of numbers."""
    area = []
    for axis, value in shard.parts:
        if axis in PERIODS:
            break
        area.append(f"{axis}:{value}")
    return Extent(shard.source, "/".join(area), IdRange.parse(shard["ids"]) if "ids" in shard.axes else IdRange())
