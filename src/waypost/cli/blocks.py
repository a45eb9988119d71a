"""The command `waypost block`, and its verbs."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json

if TYPE_CHECKING:
    from waypost.bootstrap.stores import SharingStores
    from waypost.sharing.blocks.block import Block, BlockKind

_KIND = click.argument("kind", type=click.Choice(("host", "word")))

group = Group(
    "block",
    help="Hosts that no link may lead to, and words that no new phrase may have.",
    examples=(
        "waypost block add host bad.example.org",
        "waypost block add word casino",
        "waypost block list",
        "waypost block remove word casino",
    ),
)


@group.command("add", examples=("waypost block add host bad.example.org", "waypost block add word casino"))
@_KIND
@click.argument("value")
@with_json
def add(load: Load, kind: "BlockKind", value: str, *, as_json: bool) -> None:
    """Block a host and all below it, or a word. Running servers notice within seconds."""
    from waypost.access.caller import LOCAL
    from waypost.bootstrap.sharing import read_blocks
    from waypost.cli.stores import with_links
    from waypost.sharing.blocks.block import block_value

    # Before a store is made, so that a misspelt host leaves no folder behind.
    block_value(kind, value)
    settings = load()

    async def block(stores: "SharingStores") -> "Block":
        return await (await read_blocks(settings, stores)).add(kind, value, LOCAL.name)

    added = with_links(settings, block, must_exist=False)
    told = "links to it lead nowhere now" if kind == "host" else "no new phrase has it"
    print_result(added, f"blocked {added.value}: {told}", as_json=as_json)


@group.command("remove", examples=("waypost block remove host bad.example.org",))
@_KIND
@click.argument("value")
@with_json
def remove(load: Load, kind: "BlockKind", value: str, *, as_json: bool) -> None:
    """Allow a host or a word again. Links that were made before lead there again."""
    from waypost.bootstrap.sharing import read_blocks
    from waypost.cli.stores import with_links

    settings = load()

    async def allow(stores: "SharingStores") -> str:
        return await (await read_blocks(settings, stores)).remove(kind, value)

    removed = with_links(settings, allow)
    print_result({"kind": kind, "value": removed}, f"{removed} is allowed again", as_json=as_json)


@group.command("list", examples=("waypost block list", "waypost block list --json"))
@with_json
def list_blocks(load: Load, *, as_json: bool) -> None:
    """All that is blocked in the store. Hosts in `links.blocked_hosts` are blocked as well, and not listed."""
    from waypost.cli.stores import with_links

    blocks = with_links(load(), lambda stores: stores.blocks.list())
    if as_json:
        print_json({"blocks": blocks})
        return
    for block in blocks:
        print_line(f"{block.kind}  {block.added_at:%Y-%m-%d}  {block.value}")
    if not blocks:
        say("nothing is blocked; next: waypost block add host bad.example.org")
