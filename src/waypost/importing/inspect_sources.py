"""Lists sources, those that can be imported from and what is wrong with the others; and checks one: what it will ask
its provider, and how it understands the answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

import msgspec

from waypost.importing.definitions import Definition, SourceKind
from waypost.importing.geography import Box
from waypost.importing.source import OpenSource, Page, ProviderRefused, Reject, Scope, Source
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly
from waypost.places.licence import Licence
from waypost.places.place import to_properties
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.budget import Budget
from waypost.scaling.ratelimit.limits import Limit

OpenBudget = Callable[[], AbstractAsyncContextManager[Budget]]

_SHOWN = 3
_MOST_REQUESTS = 3
_SOME_COUNTRY, _SOME_BOX = "DE", Box(13.0, 52.3, 13.7, 52.7)


class ListedSource(msgspec.Struct, frozen=True):
    """A source that is built in or configured; one that cannot be used has an error instead of its own description."""

    name: str
    kind: str
    licence: Licence | None = None
    budget: str | None = None
    file: str | None = None
    provider: str | None = None
    plans: Sequence[str] = ()
    error: str | None = None


class SourceList(msgspec.Struct, frozen=True):
    """All sources, and the kinds that a source's file may have."""

    sources: Sequence[ListedSource]
    kinds: Sequence[SourceKind]


async def list_sources(
    names: Iterable[str],
    kinds: Sequence[SourceKind],
    open_source: OpenSource,
    definitions: Mapping[str, Definition],
    limits: Mapping[str, Sequence[Limit]],
) -> SourceList:
    """`definitions` are those of the sources that have a file, and `limits` those of all sources, both by name."""
    return SourceList([await _list(name, open_source, definitions.get(name), limits[name]) for name in names], kinds)


def describe_source(source: Source, definition: Definition | None, limits: Sequence[Limit]) -> ListedSource:
    return ListedSource(
        source.name,
        definition.kind if definition else source.name,
        source.licence,
        _budget(limits) if source.budget_key else None,
        str(definition.path) if definition else None,
        source.provider,
        sorted(source.plans),
    )


async def _list(
    name: str, open_source: OpenSource, definition: Definition | None, limits: Sequence[Limit]
) -> ListedSource:
    try:
        async with open_source(name) as source:
            return describe_source(source, definition, limits)
    except AskedWrongly as error:
        if definition is None:
            raise
        told = (definition.name, definition.kind, definition.licence, _budget(limits), str(definition.path))
        return ListedSource(*told, error=str(error))


def _budget(limits: Sequence[Limit]) -> str:
    return ",".join(f"{limit.name}{' for all keys' if limit.shared else ''}" for limit in limits)


class Misunderstood(msgspec.Struct, frozen=True):
    """A record that could not be read as a place: why not, and which keys it has."""

    external_id: str | None
    reason: str
    keys: Sequence[str]


class CheckedSource(msgspec.Struct, frozen=True):
    """What a source will ask and, if it has asked, what came back. `fits` is whether the file suits the answer."""

    source: ListedSource
    shard: str
    first_request: str | None
    asked: bool = False
    fits: bool | None = None
    received: int | None = None
    last: bool | None = None
    places: Sequence[dict[str, Any]] = ()
    rejects: Sequence[Misunderstood] = ()


@runtime_checkable
class _Explains(Protocol):
    def first_address(self, shard: ShardKey) -> str: ...


def check_source(source: Source, listed: ListedSource) -> CheckedSource:
    """Says what the source would ask first, without asking it."""
    shard = _first_shard(source)
    first = source.first_address(shard) if isinstance(source, _Explains) else None
    return CheckedSource(listed, str(shard), first)


async def ask_source(
    source: Source, listed: ListedSource, open_budget: OpenBudget, *, max_wait: float
) -> CheckedSource:
    """Asks the provider too, and adds what it sends. Raises the provider's failure.

    The budget is opened only if a provider is asked, because opening it may create a store.
    """
    shard = _first_shard(source)
    if source.budget_key is None:
        page = await source.fetch(shard, None)
    else:
        async with open_budget() as budget:
            page = await _first_records(source, budget, shard, source.budget_key, max_wait)
    return _with_page(check_source(source, listed), page)


async def _first_records(source: Source, budget: Budget, shard: ShardKey, key: str, max_wait: float) -> Page:
    """Returns the first page that has records; a source may need some requests to find its way to them."""
    page = Page((), (), None, last=False)
    for _ in range(_MOST_REQUESTS):
        await budget.acquire(key, max_wait=max_wait)
        try:
            page = await source.fetch(shard, page.cursor)
        except ProviderRefused as refusal:
            refusal.retry_in = await budget.penalise(key, refusal.retry_after)
            raise
        if page.fetched or page.rejects or page.last or not page.cursor:
            break
    return page


def _with_page(checked: CheckedSource, page: Page) -> CheckedSource:
    return msgspec.structs.replace(
        checked,
        asked=True,
        fits=bool(page.fetched or not page.rejects),
        received=len(page.fetched) + len(page.rejects) if page.received is None else page.received,
        last=page.last,
        places=[to_properties(each.place) for each in page.fetched[:_SHOWN]],
        rejects=[_explain(reject) for reject in page.rejects[:_SHOWN]],
    )


def _explain(reject: Reject) -> Misunderstood:
    try:
        record = msgspec.json.decode(reject.record)
    except (msgspec.DecodeError, ValueError, RecursionError):
        record = None
    return Misunderstood(reject.external_id, reject.reason, list(record) if isinstance(record, dict) else [])


def _first_shard(source: Source) -> ShardKey:
    return source.plan(_some_scope(source), utc_now().date())[0]


def _some_scope(source: Source) -> Scope:
    if "all" in source.plans:
        return Scope()
    return Scope((_SOME_COUNTRY,)) if "country" in source.plans else Scope(bbox=_SOME_BOX)
