"""The verb `waypost link list`."""

from datetime import datetime

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json
from waypost.cli.moments import moment


@command(
    "list",
    examples=("waypost link list", "waypost link list --tag party --search example.org", "waypost link list --json"),
)
@click.option("--tag", help="Only links with this tag.")
@click.option("--search", help="Only links with this text in phrase, title or target.")
@click.option("--language", help="Only links whose phrase was drawn in this language.")
@click.option("--theme", help="Only links whose phrase was drawn from this theme.")
@click.option("--from", "start", metavar="WHEN", callback=moment, help="Only links made from this moment on.")
@click.option("--to", "end", metavar="WHEN", callback=moment, help="Only links made before this moment.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most this many.")
@with_json
def list_links(
    load: Load,
    tag: str | None,
    search: str | None,
    language: str | None,
    theme: str | None,
    start: datetime | None,
    end: datetime | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """Links, newest first, with the number of their visits."""
    from waypost.cli.link_operations import with_operations
    from waypost.sharing.links.store import Wanted
    from waypost.sharing.links.terms import fold_tag

    wanted = Wanted(
        text=search or None,
        tag=fold_tag(tag) if tag else None,
        language=language,
        theme=theme,
        created_from=start,
        created_to=end,
    )
    links = with_operations(load(), lambda links: links.list(wanted, limit))
    if as_json:
        print_json({"links": links})
        return
    for link in links:
        ended = "  disabled" if link.disabled else ""
        print_line(f"{link.created_at:%Y-%m-%d}  {link.visits:>8}  {link.phrase:<32}  {link.target}{ended}")
    if not links:
        say("no such links")
