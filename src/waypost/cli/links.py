"""The command `waypost link`, and its verbs."""

import asyncio

import click

from waypost.cli.frame import Group, Load, json_option, print_json, with_settings

group = Group(
    "link",
    help="Links: phrases that lead somewhere.",
    examples=("waypost link create https://example.org", "waypost link show gently-golden-otter"),
)


@group.command(
    "create",
    examples=(
        "waypost link create https://example.org/a/long/page",
        "waypost link create https://example.org --phrase summer-party",
    ),
)
@click.argument("target")
@click.option("--phrase", help="Use this phrase instead of drawing one.")
@json_option
@with_settings
def create(load: Load, target: str, phrase: str | None, *, as_json: bool) -> None:
    """Make a link to TARGET and print it."""
    from waypost.roles.sharing import create_link

    link = asyncio.run(create_link(load(), target, phrase))
    if as_json:
        print_json(link)
    else:
        click.echo(link.url)


@group.command("show", examples=("waypost link show gently-golden-otter", "waypost link show summer-party --json"))
@click.argument("phrase")
@json_option
@with_settings
def show(load: Load, phrase: str, *, as_json: bool) -> None:
    """Where PHRASE leads, and how often it was followed. Case and separators do not matter."""
    from waypost.roles.sharing import show_link

    link = asyncio.run(show_link(load(), phrase))
    if as_json:
        print_json(link)
        return
    click.echo(
        f"{link.url}\n  leads to  {link.target}\n  visits    {link.visits}\n"
        f"  created   {link.created_at:%Y-%m-%d %H:%M} UTC"
    )
