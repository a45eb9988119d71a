"""Lists sources: those that can be imported from, and what is wrong with the others."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from waypost.importing.definitions import Definition, SourceKind
from waypost.importing.source import OpenSource, Source
from waypost.kernel.errors import AskedWrongly
from waypost.places.licence import Licence
from waypost.scaling.ratelimit.limits import Limit


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
