"""The verb `waypost link rebuild`."""

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
    from waypost.cli.stores import with_links
    from waypost.sharing.visits.rebuild import rebuild_visits

    settings = load()
    with counting("visits", None) as on_progress:
        rebuilt = with_links(settings, lambda stores: rebuild_visits(stores.visits, on_progress))
    if as_json:
        print_json(rebuilt)
    else:
        click.echo(f"{rebuilt.visits:,} visits counted again in {rebuilt.seconds:.1f} s")
