"""The verb `waypost link erase`."""

import sys
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Load, command, print_result, say, with_json

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.sharing.links.erasing import ErasedLink


@command("erase", examples=("waypost link erase summer-party", "waypost link erase summer-party --yes --json"))
@click.argument("phrase")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
def erase(load: Load, phrase: str, *, yes: bool, as_json: bool) -> None:
    """Erase all visits of a link so far, what was counted of them, and its history, for good. The link itself stays.

    One that was deleted is found too, and loses its target, title and tags as well.
    """
    from waypost.bootstrap.sharing import link_operations, make_eraser
    from waypost.cli.stores import with_links

    settings = load()
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask on: say --yes")
        click.confirm(f"Erase the visits and the history of {phrase}, for good?", abort=True, err=True)

    async def work(stores: "SharingStores") -> "ErasedLink":
        links = await link_operations(settings, stores)
        return await links.erase(make_eraser(settings, stores), phrase)

    erased = with_links(settings, work)
    told = f"erased {erased.visits} visits, {erased.edits} edits and {erased.events} events of {erased.phrase}"
    print_result(erased, told, as_json=as_json)
    if not erased.overwritten:
        say("the store's files may hold it for a while: see docs/how-to/privacy-and-abuse.md")
    if erased.spools_held:
        say("running servers on this machine drop what is in their spools within seconds")
