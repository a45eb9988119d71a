"""The command `waypost db`, and its verbs."""

import asyncio

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, with_json

group = Group(
    "db", help="The store's schema.", examples=("waypost db status", "waypost db migrate --data /var/lib/waypost")
)


@group.command("migrate", examples=("waypost db migrate", "waypost db migrate --json"))
@with_json
def migrate(load: Load, *, as_json: bool) -> None:
    """Bring the store's schema up to date. Safe to run twice, and by many processes at once."""
    from waypost.bootstrap.schema import migrate_schema

    applied = asyncio.run(migrate_schema(load()))
    told = "\n".join(f"applied {name}" for name in applied) or "the schema is up to date"
    print_result({"applied": applied}, told, as_json=as_json)


@group.command("status", examples=("waypost db status", "waypost db status --json"))
@with_json
def status(load: Load, *, as_json: bool) -> None:
    """Which version the store's schema has, and what is missing. Changes nothing."""
    from waypost.bootstrap.schema import schema_status

    found = asyncio.run(schema_status(load()))
    if as_json:
        print_json(found)
        return
    print_line(f"schema version {found.version}")
    print_line("\n".join(f"missing: {name}" for name in found.pending) or "up to date")
    if found.pending:
        print_line("next: waypost db migrate")
