"""The command `waypost place`, and its verbs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json, with_settings
from waypost.kernel.errors import NotFound

if TYPE_CHECKING:
    from waypost.bootstrap.stores import Stores
    from waypost.places.store import Kept

group = Group(
    "place",
    help="The places in the store.",
    examples=("waypost place show ocm:2388", "waypost place count", "waypost place export > places.ndjson"),
)


class NoSuchPlace(NotFound):
    """The store has no place with this id; it may have been removed."""


def _document(kept: "Kept") -> dict[str, Any]:
    from waypost.places.place import to_properties

    return {"id": str(kept.place.id), **to_properties(kept.place), "record": msgspec.Raw(kept.record)}


@group.command("show", examples=("waypost place show ocm:2388", "waypost place show ocm:2388 --json | jq .record"))
@click.argument("place", metavar="ID")
@with_json
def show(load: Load, place: str, *, as_json: bool) -> None:
    """Everything about one place, by its id or its external id, with the provider's record."""
    from waypost.cli.stores import with_stores
    from waypost.places.place import read_id

    kept = with_stores(load(), lambda stores: stores.places.get_with_record(read_id(place)))
    if kept is None:
        raise NoSuchPlace(f"there is no place {place[:80]!r}", next_step="waypost place export | grep …")
    if as_json:
        print_json(_document(kept))
        return
    for name, value in _document(kept).items():
        print_line(f"{name:<20} {'-' if value is None else _shown(value)}")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@group.command("count", examples=("waypost place count", "waypost place count --json"))
@with_json
def count(load: Load, *, as_json: bool) -> None:
    """How many places there are; those that were removed do not count."""
    from waypost.cli.stores import with_stores

    found = with_stores(load(), lambda stores: stores.places.count())
    print_result({"places": found}, found, as_json=as_json)


@group.command("export", examples=("waypost place export > places.ndjson", "waypost place export --output p.ndjson"))
@click.option("--output", type=click.Path(path_type=Path), help="Write to this file instead of the standard output.")
@with_settings
def export(load: Load, output: Path | None) -> None:
    """All places with their providers' records, one JSON document per line, ordered by external id.

    A file gets its name once it is complete: until then, what was there before stays.
    """
    from waypost.cli.stores import with_stores
    from waypost.kernel.whole_file import whole_file

    async def write(stores: "Stores", file: BinaryIO) -> int:
        written = 0
        async for batch in stores.places.scan_with_records():
            file.writelines(msgspec.json.encode(_document(kept)) + b"\n" for kept in batch)
            written += len(batch)
        return written

    async def write_out(stores: "Stores") -> int:
        if output is None:
            return await write(stores, sys.stdout.buffer)
        with whole_file(output) as file:
            return await write(stores, file)

    say(f"{with_stores(load(), write_out)} places")
