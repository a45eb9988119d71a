"""The verb `waypost snapshot export`."""

import click

from waypost.cli.frame import Load, command, print_json, say, with_json

_PACKED = (".gz", ".zst")


@command(
    "export",
    examples=(
        "waypost snapshot export --geoparquet places.parquet",
        "waypost snapshot export --geojson places.geojson.gz",
        "waypost snapshot export --ndjson - | jq .properties.name",
    ),
)
@click.argument("generation", required=False)
@click.option("--geoparquet", metavar="FILE", help="As GeoParquet 1.1, with positions as WKB. Needs waypost[files].")
@click.option("--geojson", metavar="FILE", help="As one GeoJSON FeatureCollection.")
@click.option("--ndjson", metavar="FILE", help="As GeoJSON Features, one per line.")
@with_json
def export(load: Load, generation: str | None, *, as_json: bool, **files: str | None) -> None:
    """Write the places of GENERATION into a file; `-` is the standard output. By default, the current generation.

    GeoJSON and NDJSON are compressed when the file's name ends with .gz or .zst. More places do not take more memory.
    The file appears under its name once it is complete.
    """
    from waypost.bootstrap.snapshots import export_as, open_export
    from waypost.cli.progress import counting
    from waypost.serving.reading.reader import Generation
    from waypost.serving.shelf import Shelf

    form, target = _chosen(files, as_json=as_json)
    opened = Generation.open(Shelf(load().snapshots).find(generation))
    write = export_as(form)
    with open_export(target) as file, counting("places", opened.count) as on_progress:
        write(opened, file, on_progress)
    if as_json:
        print_json({"generation": opened.name, "places": opened.count, "format": form, "file": target})
    else:
        say(f"{opened.count:,} places of {opened.name}")


def _chosen(files: dict[str, str | None], *, as_json: bool) -> tuple[str, str]:
    chosen = [(form, target) for form, target in files.items() if target is not None]
    if len(chosen) != 1:
        raise click.UsageError("say one of --geoparquet FILE, --geojson FILE and --ndjson FILE")
    form, target = chosen[0]
    if form == "geoparquet" and target.lower().endswith(_PACKED):
        raise click.UsageError("a GeoParquet file is compressed inside; let its name end with .parquet")
    if as_json and target == "-":
        raise click.UsageError("the standard output takes either the places or --json")
    return form, target
