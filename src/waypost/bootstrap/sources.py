"""Sources of places, by their names: those that are built in, and those that a file describes."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from waypost.adapters.sources.kinds import kinds, make_source
from waypost.adapters.sources.ocm.source import OcmSource
from waypost.importing.definitions import Definition, SourceContext, SourceKind
from waypost.importing.source import Source
from waypost.kernel.errors import AskedWrongly
from waypost.kernel.suggesting import did_you_mean
from waypost.settings import Settings, is_source_file

SOURCES = ("ocm",)


class UnknownSource(AskedWrongly):
    """There is no source of that name."""


@asynccontextmanager
async def open_source(name: str, settings: Settings) -> AsyncIterator[Source]:
    """Opens the built-in source of this name, or the one that a configured file describes."""
    source = _make_source(name, settings)
    try:
        yield source
    finally:
        await source.close()


def _make_source(name: str, settings: Settings) -> Source:
    if name in SOURCES:
        return OcmSource(settings.ocm, settings.importing)
    definition = find_definition(name, settings)
    context = SourceContext(
        definition.name, definition.licence, settings.importing, definition.path.absolute().parent, os.environ
    )
    return make_source(definition, context)


def source_kinds() -> list[SourceKind]:
    """The kinds that the file of a source may have, with the packages that bring them."""
    return kinds()


def find_definition(name: str, settings: Settings) -> Definition:
    for definition in settings.sources.values():
        if name == definition.name or (is_source_file(name) and Path(name).resolve() == definition.path.resolve()):
            return definition
    known = (*SOURCES, *settings.sources)
    raise UnknownSource(
        f"there is no source {name[:40]!r}; there is {', '.join(known)}.{did_you_mean(name, known)}",
        parameter="source",
        next_step="waypost source list; files of sources are named by WAYPOST_SOURCES",
    )
