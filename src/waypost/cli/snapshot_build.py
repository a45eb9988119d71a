"""The command `waypost snapshot build`."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_json, print_line, read_by, say, with_json
from waypost.kernel.quantities import parse_size

if TYPE_CHECKING:
    from waypost.serving.format import Manifest
    from waypost.settings import Settings


@command(
    "build",
    examples=(
        "waypost snapshot build",
        "waypost snapshot build --data /var/lib/waypost --json",
        "waypost snapshot build --processes 1 --memory 64m",
        "waypost snapshot build --from stations.geojson --from benches.parquet",
    ),
)
@click.option(
    "--processes", type=click.IntRange(1, 1024), metavar="N", help="Processes to use (default: one per core)."
)
@click.option(
    "--memory", metavar="SIZE", callback=read_by(parse_size), help="Memory for places in all processes (default: 256m)."
)
@click.option(
    "--from",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take places from this GeoJSON, NDJSON or GeoParquet, and not from the store; may be repeated.",
)
@with_json
def build(load: Load, processes: int | None, memory: int | None, files: tuple[Path, ...], *, as_json: bool) -> None:
    """Compile all places into a new generation and publish it.

    Servers move to it between two requests. The same places give the same generation, which is then not built again;
    neither the number of processes nor the memory changes a byte of it.
    """
    settings = load()
    work = _from_files(settings, files, processes, memory) if files else _from_store(settings, processes, memory)
    manifest = asyncio.run(work)
    if as_json:
        print_json(manifest)
        return
    print_line(manifest.generation)
    say(f"{manifest.count} places in {settings.snapshots / manifest.generation}")
    if not manifest.count and not files:
        say("the store is empty; next: waypost import run --source ocm --country DE,FR")


async def _from_store(settings: "Settings", processes: int | None, memory: int | None) -> "Manifest":
    from waypost.bootstrap.stores import open_stores
    from waypost.cli.progress import counting
    from waypost.roles.kit.snapshot_build import build_snapshot
    from waypost.serving.build import Means

    async with open_stores(settings, must_exist=True) as stores:
        count = await stores.places.count()
        with counting("places", count) as on_progress:
            return await build_snapshot(settings, stores, on_progress, Means.choose(processes, memory, count))


async def _from_files(
    settings: "Settings", files: tuple[Path, ...], processes: int | None, memory: int | None
) -> "Manifest":
    from waypost.cli.progress import counting
    from waypost.roles.kit.snapshot_build import build_from_files
    from waypost.serving.build import Means, guess_places

    means = Means.choose(processes, memory, guess_places(files))
    with counting("places", None) as on_progress:
        return await build_from_files(settings, files, on_progress, means)
