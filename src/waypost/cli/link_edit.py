"""The verbs of `waypost link` that change a link: edit, disable, enable and delete."""

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Command, Load, json_option, print_json, with_settings
from waypost.cli.moments import moment_ahead, read_password

if TYPE_CHECKING:
    from waypost.settings import Settings
    from waypost.sharing.links.document import LinkDocument


@click.command(
    "edit",
    cls=Command,
    examples=(
        "waypost link edit summer-party --target https://example.org/2027",
        "waypost link edit summer-party --expires 7d --tag party --tag 2027",
        "waypost link edit summer-party --no-expires --no-password",
    ),
)
@click.argument("phrase")
@click.option("--target", help="Lead there from now on.")
@click.option("--title", help="Call it this.")
@click.option("--tag", "tags", multiple=True, help="Have these tags instead of those it has; may be repeated.")
@click.option("--no-tags", is_flag=True, help="Have no tags.")
@click.option(
    "--expires", "expires_at", metavar="WHEN", callback=moment_ahead, help="End then: a moment, or a time such as 7d."
)
@click.option("--no-expires", is_flag=True, help="Never end.")
@click.option("--max-visits", type=int, help="Lead there so many times, and no more.")
@click.option("--no-max-visits", is_flag=True, help="Lead there as often as anybody likes.")
@click.option("--password-stdin", is_flag=True, help="Protect it with the password on the standard input.")
@click.option("--no-password", is_flag=True, help="Ask for no password.")
@click.option("--forward-query/--no-forward-query", default=None, help="Pass the visitor's query on to the target.")
@json_option
@with_settings
def edit(
    load: Load,
    phrase: str,
    *,
    tags: tuple[str, ...],
    expires_at: datetime | None,
    password_stdin: bool,
    no_tags: bool,
    no_expires: bool,
    no_password: bool,
    no_max_visits: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Change the link with this PHRASE; what you do not name stays as it is. The phrase itself never changes."""
    _refuse_both("--tag", "--no-tags", both=bool(tags) and no_tags)
    _refuse_both("--expires", "--no-expires", both=expires_at is not None and no_expires)
    _refuse_both("--password-stdin", "--no-password", both=password_stdin and no_password)
    _refuse_both("--max-visits", "--no-max-visits", both=given["max_visits"] is not None and no_max_visits)
    wanted = {name: value for name, value in given.items() if value is not None}
    wanted |= {"tags": tags} if tags or no_tags else {}
    wanted |= {"expires_at": expires_at} if expires_at or no_expires else {}
    wanted |= {"max_visits": None} if no_max_visits else {}
    wanted |= {"password": read_password() if password_stdin else None} if password_stdin or no_password else {}
    if not wanted:
        raise click.UsageError("say what to change")
    link = _change(load(), phrase, **wanted)
    _tell(link, f"{link.url} leads to {link.target}", as_json=as_json)


@click.command("disable", cls=Command, examples=("waypost link disable summer-party",))
@click.argument("phrase")
@json_option
@with_settings
def disable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Let a link lead nowhere, until it is enabled again."""
    link = _change(load(), phrase, disabled=True)
    _tell(link, f"{link.url} leads nowhere any more", as_json=as_json)


@click.command("enable", cls=Command, examples=("waypost link enable summer-party",))
@click.argument("phrase")
@json_option
@with_settings
def enable(load: Load, phrase: str, *, as_json: bool) -> None:
    """Let a disabled link lead to its target again."""
    link = _change(load(), phrase, disabled=False)
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
            raise click.UsageError("there is nobody here to ask: say --yes")
        link = with_operations(settings, lambda links: links.show(phrase))
        click.confirm(f"Delete {link.url}, which leads to {link.target}?", abort=True, err=True)
    link = with_operations(settings, lambda links: links.delete(phrase))
    if as_json:
        print_json(link)
    else:
        click.echo(f"deleted {link.phrase}")


def _change(settings: "Settings", phrase: str, **wanted: Any) -> "LinkDocument":
    from waypost.bootstrap.sharing import target_rules
    from waypost.cli.link_operations import with_operations
    from waypost.sharing.links.editing import Changes

    changes = Changes(**wanted)
    return with_operations(settings, lambda links: links.edit(target_rules(settings), phrase, changes))


def _tell(link: "LinkDocument", text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(link)
    else:
        click.echo(text)


def _refuse_both(one: str, other: str, *, both: bool) -> None:
    if both:
        raise click.UsageError(f"{one} and {other} exclude each other")
