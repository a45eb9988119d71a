"""Building a snapshot from what is configured: places of the store or of files, and processes beside this one."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from waypost.bootstrap.snapshots import file_parts
from waypost.bootstrap.stores import Stores
from waypost.importing.licences import licences_of
from waypost.roles.kit.build_child import PartReader
from waypost.roles.kit.build_processes import BuildProcesses
from waypost.serving.build import Means, OnProgress, SnapshotBuild
from waypost.serving.format import Manifest
from waypost.settings import Settings


async def build_snapshot(
    settings: Settings, stores: Stores, on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Builds a snapshot of the places in the store."""
    means = means or Means()
    attribution = {name: licence.sentence for name, licence in (await licences_of(stores.facts)).items()}
    build = _build(settings, PartReader(settings, stores), means, attribution, on_progress)
    return await build.run(await stores.places.parts(means.parts))


async def build_from_files(
    settings: Settings, files: Sequence[Path], on_progress: OnProgress | None = None, means: Means | None = None
) -> Manifest:
    """Builds a snapshot of the places in files; it needs no store, and has no attribution."""
    means = means or Means()
    parts = [part for path in files for part in await asyncio.to_thread(file_parts, path, means.processes)]
    return await _build(settings, PartReader(settings), means, {}, on_progress).run(parts)


def _build(
    settings: Settings,
    reader: PartReader,
    means: Means,
    attribution: Mapping[str, str],
    on_progress: OnProgress | None,
) -> SnapshotBuild:
    return SnapshotBuild(
        settings.snapshots,
        settings.serving.keep,
        reader.batches,
        partial(BuildProcesses, settings),
        means,
        attribution,
        on_progress,
    )
