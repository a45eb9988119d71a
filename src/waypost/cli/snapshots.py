"""The command `waypost snapshot`, and its verbs."""

import asyncio

import click

from waypost.cli.frame import Group, Load, json_option, print_json, say, with_settings

group = Group(
    "snapshot",
    help="The compiled form of all places, from which they are served.",
    examples=("waypost snapshot build", "waypost snapshot build --json"),
)


@group.command("build", examples=("waypost snapshot build", "waypost snapshot build --data /var/lib/waypost --json"))
@json_option
@with_settings
def build(load: Load, *, as_json: bool) -> None:
    """Compile the store's places into a new generation and publish it.

    Servers move to it between two requests. The same places give the same generation, which is then not built again.
    """
    from waypost.cli.progress import counting
    from waypost.serving.format import Manifest

    settings = load()

    async def work() -> Manifest:
        from waypost.bootstrap import open_stores
        from waypost.roles.snapshots import build_snapshot

        async with open_stores(settings, must_exist=True) as stores:
            with counting("places", await stores.places.count()) as on_progress:
                return await build_snapshot(settings, stores, on_progress)

    manifest = asyncio.run(work())
    if as_json:
        print_json(manifest)
        return
    click.echo(manifest.generation)
    say(f"{manifest.count} places in {settings.snapshots / manifest.generation}")
    if not manifest.count:
        say("the store is empty; next: waypost import run --source ocm --country DE,FR")
