"""The verbs of `waypost snapshot` that look at generations, check them, and choose among them."""

import click

from waypost.cli.frame import Load, command, print_json, print_line, print_result, say, with_json


@command("list", examples=("waypost snapshot list", "waypost snapshot list --json | jq '.[].size'"))
@with_json
def list_generations(load: Load, *, as_json: bool) -> None:
    """The generations in the folder of snapshots, oldest first; a star marks the current one.

    The file CURRENT alone decides which one is served; `waypost snapshot use` changes it.
    """
    from waypost.cli.frame import read_aloud
    from waypost.serving.overview import list_generations as look
    from waypost.serving.shelf import Shelf

    settings = load()
    found = look(Shelf(settings.snapshots))
    if as_json:
        print_json(found)
        return
    for each in found:
        mark = "*" if each.current else " "
        if each.created_at is None or each.places is None or each.size is None:
            print_line(f"{mark} {each.generation}  {each.problem}")
        else:
            created, size = f"{each.created_at:%Y-%m-%d %H:%M:%S} UTC", read_aloud(each.size)
            print_line(f"{mark} {each.generation}  {created} {each.places:>11,} places {size:>10}")
    if not found:
        say(f"there are no generations in {settings.snapshots}; next: waypost snapshot build")


@command(
    "info",
    examples=("waypost snapshot info", "waypost snapshot info 20261115T093640Z-ab4d41cc --json | jq .manifest.count"),
)
@click.argument("generation", required=False)
@with_json
def info(load: Load, generation: str | None, *, as_json: bool) -> None:
    """What GENERATION is made of: its places, their sources, each file with its size. By default, the current one."""
    import msgspec

    from waypost.cli.frame import read_aloud
    from waypost.serving.overview import describe
    from waypost.serving.shelf import Shelf

    described = describe(Shelf(load().snapshots), generation)
    if as_json:
        print_json(described)
        return
    manifest = described.manifest
    lines = {
        "generation": manifest.generation + (" (current)" if described.current else ""),
        "created": f"{manifest.created_at:%Y-%m-%d %H:%M:%S} UTC",
        "format": str(manifest.format),
        "places": f"{manifest.count:,}",
        "sources": ", ".join(manifest.sources) or "-",
        "attribution": "; ".join(manifest.attribution) or "-",
        "folder": described.path,
        "size": read_aloud(described.size),
    }
    for name, value in lines.items():
        print_line(f"{name:<13} {value}")
    for section in manifest.sections:
        print_line(f"  {section.name:<13} {read_aloud(section.size):>10}  xxh3 {section.xxh3}")
    for field, count in msgspec.to_builtins(manifest).get("values", {}).items():
        print_line(f"  {field:<13} {count:>10,}  values")


@command("verify", examples=("waypost snapshot verify", "waypost snapshot verify 20261115T093640Z-ab4d41cc --quick"))
@click.argument("generation", required=False)
@click.option("--quick", is_flag=True, help="Only sizes, checksums and structure, without looking at each place.")
@with_json
def verify(load: Load, generation: str | None, *, quick: bool, as_json: bool) -> int:
    """Check that GENERATION is whole: every checksum, and every place. By default, the current one.

    Servers check sizes and checksums before they serve a generation. This also looks at each place: that it is JSON,
    has the id of its row, and is found by it. Exits with 1 and names the file if something is wrong.
    """
    from waypost.cli.progress import counting
    from waypost.serving.checking import check_rows
    from waypost.serving.format import SnapshotBroken
    from waypost.serving.reading.reader import Generation
    from waypost.serving.shelf import Shelf

    path = Shelf(load().snapshots).find(generation)
    try:
        opened = Generation.open(path)
        if not quick:
            with counting("places", opened.count) as on_progress:
                check_rows(opened, on_progress)
    except SnapshotBroken as error:
        if not as_json:
            raise
        print_json({"generation": path.name, "whole": False, "file": error.path.name, "problem": str(error)})
        return error.exit_code
    told = f"{path.name} is whole: {len(opened.manifest.sections)} files, {opened.count:,} places"
    print_result({"generation": path.name, "whole": True, "places": opened.count}, told, as_json=as_json)
    return 0


@command(
    "use",
    examples=(
        "waypost snapshot use 20261115T093640Z-ab4d41cc",
        "waypost snapshot use $(ls waypost-data/snapshots | head -1)",
    ),
)
@click.argument("generation")
@with_json
def use(load: Load, generation: str, *, as_json: bool) -> None:
    """Make GENERATION the current one, for example to go back to an older one.

    It is opened and checked first. Servers on this folder move to it within about a second. The next build publishes a
    newer one again.
    """
    from waypost.serving.shelf import Shelf

    settings = load()
    Shelf(settings.snapshots).use(generation)
    print_result({"generation": generation}, generation, as_json=as_json)
    if not as_json:
        say(f"{settings.snapshots / generation} is current now")


@command("prune", examples=("waypost snapshot prune", "waypost snapshot prune --keep 1 --json"))
@click.option(
    "--keep", type=click.IntRange(1, 1_000_000), help="How many of the newest stay (default: snapshot.keep, 3)."
)
@with_json
def prune(load: Load, keep: int | None, *, as_json: bool) -> None:
    """Remove old generations and print their names.

    The newest ones stay, and so does the current one, however old it is, and what was current within the last minute:
    a server may still be reading it.
    """
    from waypost.serving.shelf import Shelf

    settings = load({"snapshot.keep": keep})
    shelf = Shelf(settings.snapshots)
    removed = [path.name for path in shelf.prune(settings.serving.keep)]
    kept = [path.name for path in shelf.generations()]
    if as_json:
        print_json({"removed": removed, "kept": kept})
        return
    for name in removed:
        print_line(name)
    say(f"{len(removed)} removed, {len(kept)} kept")
