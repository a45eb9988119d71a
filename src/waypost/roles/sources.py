"""Looking at sources: which there are, and how one understands its provider."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from waypost.bootstrap.budgets import open_budget
from waypost.bootstrap.sources import SOURCES, find_definition, open_source, source_kinds
from waypost.importing.geography import Box
from waypost.importing.source import Page, ProviderRefused, Reject, Scope, Source
from waypost.kernel.clock import utc_now
from waypost.kernel.errors import AskedWrongly
from waypost.places.licence import Licence
from waypost.places.place import to_properties
from waypost.scaling.jobs.shards import ShardKey
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings

_SHOWN = 3
_MOST_STEPS = 2
_SOME_COUNTRY, _SOME_BOX = "DE", Box(13.0, 52.3, 13.7, 52.7)


class Listed(msgspec.Struct, frozen=True):
    """A source that is built in or configured; one that cannot be used has an error instead of what it says itself."""

    name: str
    kind: str
    licence: Licence | None = None
    budget: str | None = None
    file: str | None = None
    provider: str | None = None
    plans: Sequence[str] = ()
    error: str | None = None


class ListedKind(msgspec.Struct, frozen=True):
    name: str
    package: str
    error: str | None = None


class Overview(msgspec.Struct, frozen=True):
    sources: Sequence[Listed]
    kinds: Sequence[ListedKind]


class Misunderstood(msgspec.Struct, frozen=True):
    """A record that is no place: why, and which keys it has."""

    external_id: str | None
    reason: str
    keys: Sequence[str]


class Checked(msgspec.Struct, frozen=True):
    """What a source will ask, and, when it was asked, what came of it. `fits` is whether the file suits the answer."""

    source: Listed
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


async def overview(settings: Settings) -> Overview:
    return Overview(
        [await _list(settings, name) for name in (*SOURCES, *settings.sources)],
        [ListedKind(kind.name, kind.package, kind.error) for kind in source_kinds()],
    )


async def check_source(settings: Settings, name: str, *, ask: bool) -> Checked:
    """Raises what is wrong with the file, or what the provider's failure was."""
    async with open_source(name, settings) as source:
        shard = source.plan(_some_scope(source), utc_now().date())[0]
        first = source.first_address(shard) if isinstance(source, _Explains) else None
        checked = Checked(_describe(settings, source), str(shard), first)
        return _with_page(checked, await _ask(settings, source, shard)) if ask else checked


async def _ask(settings: Settings, source: Source, shard: ShardKey) -> Page:
    """The first page that has records; a source may have to find its way to them first."""
    if source.budget_key is None:
        return await source.fetch(shard, None)
    async with open_budget(settings) as budget:
        page = await _ask_once(settings, source, budget, shard, None)
        for _ in range(_MOST_STEPS):
            if page.fetched or page.rejects or page.last or not page.cursor:
                break
            page = await _ask_once(settings, source, budget, shard, page.cursor)
        return page


async def _ask_once(settings: Settings, source: Source, budget: Budget, shard: ShardKey, cursor: str | None) -> Page:
    assert source.budget_key
    await budget.acquire(source.budget_key, max_wait=settings.budget.max_wait)
    try:
        return await source.fetch(shard, cursor)
    except ProviderRefused as refusal:
        refusal.retry_in = await budget.penalise(source.budget_key, refusal.retry_after)
        raise


def _with_page(checked: Checked, page: Page) -> Checked:
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


async def _list(settings: Settings, name: str) -> Listed:
    try:
        async with open_source(name, settings) as source:
            return _describe(settings, source)
    except AskedWrongly as error:
        definition = find_definition(name, settings)
        return Listed(
            definition.name,
            definition.kind,
            definition.licence,
            _budget(settings, name),
            str(definition.path),
            error=str(error),
        )


def _describe(settings: Settings, source: Source) -> Listed:
    definition = settings.sources.get(source.name)
    return Listed(
        source.name,
        definition.kind if definition else source.name,
        source.licence,
        _budget(settings, source.name) if source.budget_key else None,
        str(definition.path) if definition else None,
        source.provider,
        sorted(source.plans),
    )


def _budget(settings: Settings, name: str) -> str:
    return ",".join(f"{limit.name}{' for all keys' if limit.shared else ''}" for limit in settings.budget.limits[name])


def _some_scope(source: Source) -> Scope:
    if "all" in source.plans:
        return Scope()
    return Scope((_SOME_COUNTRY,)) if "country" in source.plans else Scope(bbox=_SOME_BOX)
