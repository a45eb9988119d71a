"""The verbs `waypost link create` and `waypost link edit`: what can be said about a link is an option of both."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from waypost.cli.frame import Load, command, print_result, with_json
from waypost.cli.moments import moment_ahead, read_password
from waypost.sharing.phrases.formats import FORMATS

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.sharing.links.link import LinkDocument


@command(
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
@click.option("--max-visits", type=int, help="It leads there at most this many times.")
@click.option("--password-stdin", is_flag=True, help="Protect it with the password on the standard input.")
@click.option("--forward-query", is_flag=True, help="Pass the visitor's query on to the target.")
@click.option("--reuse", is_flag=True, help="Print the existing link to the same target, if there is one.")
@with_json
def create(
    load: Load,
    *,
    expires_at: datetime | None,
    password_stdin: bool,
    as_json: bool,
    **wish: Any,
) -> None:
    """Make a link to TARGET and print it."""
    from waypost.bootstrap.sharing import link_operations, make_author, read_blocks
    from waypost.cli.stores import with_links
    from waypost.sharing.links.draft import Draft

    password = read_password() if password_stdin else None
    draft = Draft(expires_at=expires_at, password=password, **wish)
    settings = load()

    async def make(stores: "SharingStores") -> "LinkDocument":
        author = make_author(settings, stores, block=1, blocks=await read_blocks(settings, stores))
        return await (await link_operations(settings, stores)).create(author, draft)

    link = with_links(settings, make, must_exist=False)
    print_result(link, link.url, as_json=as_json)


@command(
    "edit",
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
@click.option("--max-visits", type=int, help="Lead there at most this many times.")
@click.option("--no-max-visits", is_flag=True, help="Lead there any number of times.")
@click.option("--password-stdin", is_flag=True, help="Protect it with the password on the standard input.")
@click.option("--no-password", is_flag=True, help="Ask for no password.")
@click.option("--forward-query/--no-forward-query", default=None, help="Pass the visitor's query on to the target.")
@with_json
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
    from waypost.cli.link_operations import change_link

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
    link = change_link(load(), phrase, **wanted)
    print_result(link, f"{link.url} leads to {link.target}", as_json=as_json)


def _refuse_both(one: str, other: str, *, both: bool) -> None:
    if both:
        raise click.UsageError(f"{one} and {other} exclude each other")
