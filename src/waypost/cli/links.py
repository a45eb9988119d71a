"""The command `waypost link`, and its verbs."""

from typing import TYPE_CHECKING

import click

from waypost.cli import (
    link_disable,
    link_erase,
    link_everything,
    link_files,
    link_list,
    link_rebuild,
    link_stats,
    link_write,
)
from waypost.cli.frame import Group, Load, print_json, print_line, with_json

if TYPE_CHECKING:
    from waypost.sharing.links.link import LinkDocument

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
    "show",
    examples=(
        "waypost link show gently-golden-otter",
        "waypost link show summer-party --json",
        "waypost link show summer-party --everything > kept.ndjson",
    ),
)
@click.argument("phrase")
@click.option("--everything", "all_kept", is_flag=True, help="Print all that is kept about it, as JSON lines.")
@with_json
def show(load: Load, phrase: str, *, all_kept: bool, as_json: bool) -> None:
    """Where PHRASE leads, and how often it was followed. Case and separators do not matter."""
    from waypost.cli.link_operations import with_operations

    if all_kept:
        link_everything.print_everything(load(), phrase)
        return
    link = with_operations(load(), lambda links: links.show(phrase))
    if as_json:
        print_json(link)
        return
    print_line(link.url)
    for name, value in _facts(link):
        print_line(f"  {name:<9} {value}")


def _facts(link: "LinkDocument") -> list[tuple[str, str]]:
    """What is shown of every link, and what only some links have."""
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
    link_write.create,
    link_list.list_links,
    link_write.edit,
    link_disable.disable,
    link_disable.enable,
    link_disable.delete,
    link_erase.erase,
    link_stats.stats,
    link_files.import_links,
    link_files.export_links,
    link_rebuild.rebuild,
):
    group.add_command(verb)
