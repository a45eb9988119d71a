"""The command `waypost link`, and its verbs."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from waypost.cli import link_edit, link_files, link_list, link_rebuild, link_stats
from waypost.cli.frame import Group, Load, json_option, print_json, with_settings
from waypost.cli.moments import moment_ahead, read_password
from waypost.sharing.phrases.formats import FORMATS

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.sharing.links.document import LinkDocument

group = Group(
    "link",
    help="Links: phrases that lead somewhere.",
    examples=(
        "waypost link create https://example.org",
        "waypost link show gently-golden-otter",
        "waypost link import short_urls.csv --dry-run",
    ),
)


@group.command(
    "create",
    examples=(
        "waypost link create https://example.org/a/long/page",
        "waypost link create https://example.org --phrase summer-party --expires 30d",
        "waypost link create https://example.org --language pl --theme animals --tag zoo",
    ),
)
@click.argument("target")
@click.option("--phrase", help="Use this phrase instead of drawing one.")
@click.option("--language", help="Draw the phrase in this language.")
@click.option("--theme", help="Draw the phrase from this theme.")
@click.option("--format", type=click.Choice(FORMATS), help="How the phrase is written.")
@click.option("--title", default="", help="What you call it.")
@click.option("--tag", "tags", multiple=True, help="To list links by; may be repeated.")
@click.option(
    "--expires",
    "expires_at",
    metavar="WHEN",
    callback=moment_ahead,
    help="When it ends: a moment, or a time such as 7d.",
)
@click.option("--max-visits", type=int, help="It leads there so many times, and no more.")
@click.option("--password-stdin", is_flag=True, help="Protect it with the password on the standard input.")
@click.option("--forward-query", is_flag=True, help="Pass the visitor's query on to the target.")
@click.option("--reuse", is_flag=True, help="Print the link to the same target that is there already, if there is.")
@json_option
@with_settings
def create(
    load: Load,
    *,
    expires_at: datetime | None,
    password_stdin: bool,
    as_json: bool,
    **wish: Any,
) -> None:
    """Make a link to TARGET and print it."""
    from waypost.bootstrap.sharing import link_operations, make_author
    from waypost.cli.stores import with_links
    from waypost.sharing.links.draft import Draft

    password = read_password() if password_stdin else None
    draft = Draft(expires_at=expires_at, password=password, **wish)
    settings = load()

    async def make(stores: "SharingStores") -> "LinkDocument":
        author = make_author(settings, stores, block=1)
        return await (await link_operations(settings, stores)).create(author, draft)

    link = with_links(settings, make, must_exist=False)
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
    from waypost.cli.link_operations import with_operations

    link = with_operations(load(), lambda links: links.show(phrase))
    if as_json:
        print_json(link)
        return
    click.echo(link.url)
    for name, value in _facts(link):
        click.echo(f"  {name:<9} {value}")


def _facts(link: "LinkDocument") -> list[tuple[str, str]]:
    """What is always told of a link, and what only some links have."""
    always = [
        ("leads to", link.target),
        ("visits", f"{link.visits}" if link.max_visits is None else f"{link.visits} of at most {link.max_visits}"),
        ("created", f"{link.created_at:%Y-%m-%d %H:%M} UTC"),
    ]
    some = [
        ("title", link.title),
        ("tags", ", ".join(link.tags)),
        ("ends", f"{link.expires_at:%Y-%m-%d %H:%M} UTC" if link.expires_at else ""),
        ("asks for", "a password" if link.protected else ""),
        ("is", "disabled" if link.disabled else ""),
    ]
    return always + [(name, value) for name, value in some if value]


for verb in (
    link_list.list_links,
    link_edit.edit,
    link_edit.disable,
    link_edit.enable,
    link_edit.delete,
    link_stats.stats,
    link_files.import_links,
    link_files.export_links,
    link_rebuild.rebuild,
):
    group.add_command(verb)
