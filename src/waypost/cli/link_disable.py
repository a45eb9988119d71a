"""The verbs `waypost link disable`, `enable` and `delete`."""

import sys
from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Command, Load, json_option, print_json, with_settings

if TYPE_CHECKING:
    from waypost.sharing.links.link import LinkDocument


@click.command("disable", cls=Command, examples=("waypost link disable summer-party",))
@click.argument("phrase")
@json_option
@with_settings
def disable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Make a link lead nowhere until it is enabled again."""
    from waypost.cli.link_operations import change_link

    link = change_link(load(), phrase, disabled=True)
    _tell(link, f"{link.url} no longer leads anywhere", as_json=as_json)


@click.command("enable", cls=Command, examples=("waypost link enable summer-party",))
@click.argument("phrase")
@json_option
@with_settings
def enable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Make a disabled link lead to its target again."""
    from waypost.cli.link_operations import change_link

    link = change_link(load(), phrase, disabled=False)
    _tell(link, f"{link.url} leads to {link.target}", as_json=as_json)


@click.command("delete", cls=Command, examples=("waypost link delete summer-party --yes",))
@click.argument("phrase")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@with_settings
def delete(load: Load, phrase: str, *, yes: bool, as_json: bool) -> None:
    """Delete a link for good. Its phrase leads nowhere from then on, and is never given out again."""
    from waypost.cli.link_operations import with_operations

    settings = load()
    if not yes:
        if not sys.stdin.isatty():
            raise click.UsageError("there is no terminal to ask on: say --yes")
        link = with_operations(settings, lambda links: links.show(phrase))
        click.confirm(f"Delete {link.url}, which leads to {link.target}?", abort=True, err=True)
    link = with_operations(settings, lambda links: links.delete(phrase))
    if as_json:
        print_json(link)
    else:
        click.echo(f"deleted {link.phrase}")


def _tell(link: "LinkDocument", text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(link)
    else:
        click.echo(text)
