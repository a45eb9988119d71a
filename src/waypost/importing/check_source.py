"""Checks a source: what it will ask its provider, and how it understands the answer."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

import msgspec

from waypost.importing.geography import Box
from waypost.importing.list_sources import ListedSource
from waypost.importing.source import Page, ProviderRefused, Reject, Scope, Source
from waypost.kernel.clock import utc_now
from waypost.places.place import to_properties
from waypost.scaling.jobs.shard_keys import ShardKey
from waypost.scaling.ratelimit.budget import Budget

OpenBudget = Callable[[], AbstractAsyncContextManager[Budget]]

_SHOWN = 3
_MOST_STEPS = 2
_SOME_COUNTRY, _SOME_BOX = "DE", Box(13.0, 52.3, 13.7, 52.7)


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
    page = await _ask_once(source, budget, shard, key, max_wait, None)
    for _ in range(_MOST_STEPS):
        if page.fetched or page.rejects or page.last or not page.cursor:
            break
        page = await _ask_once(source, budget, shard, key, max_wait, page.cursor)
    return page


async def _ask_once(
    source: Source, budget: Budget, shard: ShardKey, key: str, max_wait: float, cursor: str | None
) -> Page:
    await budget.acquire(key, max_wait=max_wait)
    try:
        return await source.fetch(shard, cursor)
    except ProviderRefused as refusal:
        refusal.retry_in = await budget.penalise(key, refusal.retry_after)
        raise


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
