"""The verbs `waypost link disable`, `enable` and `delete`."""

import sys

import click

from waypost.cli.frame import Load, command, print_result, with_json


@command("disable", examples=("waypost link disable summer-party",))
@click.argument("phrase")
@with_json
def disable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Make a link lead nowhere until it is enabled again."""
    from waypost.cli.link_operations import change_link

    link = change_link(load(), phrase, disabled=True)
    print_result(link, f"{link.url} no longer leads anywhere", as_json=as_json)


@command("enable", examples=("waypost link enable summer-party",))
@click.argument("phrase")
@with_json
def enable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Make a disabled link lead to its target again."""
    from waypost.cli.link_operations import change_link

    link = change_link(load(), phrase, disabled=False)
    print_result(link, f"{link.url} leads to {link.target}", as_json=as_json)


@command("delete", examples=("waypost link delete summer-party --yes",))
@click.argument("phrase")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_json
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
    print_result(link, f"deleted {link.phrase}", as_json=as_json)
