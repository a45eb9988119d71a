"""The verb `waypost link rebuild`."""

import asyncio

import click

from waypost.cli.frame import Command, Load, json_option, print_json, with_settings


@click.command("rebuild", cls=Command, examples=("waypost link rebuild", "waypost link rebuild --json"))
@json_option
@with_settings
def rebuild(load: Load, *, as_json: bool) -> None:
    """Count all visits again, for every link. Redirects and counting go on meanwhile.

    Days whose visits were dropped (`visits.retention`) keep their counts.
    """
    from waypost.cli.progress import counting
    from waypost.roles.visits import rebuild_visits

    settings = load()
    with counting("visits", None) as on_progress:
        rebuilt = asyncio.run(rebuild_visits(settings, on_progress))
    if as_json:
        print_json(rebuilt)
    else:
        click.echo(f"{rebuilt.visits:,} visits counted again in {rebuilt.seconds:.1f} s")
