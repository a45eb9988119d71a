"""The command `waypost key`, and its verbs."""

import click

from waypost.access.keys import SCOPES
from waypost.cli.frame import Group, Load, print_json, print_line, print_result, say, with_json

group = Group(
    "key",
    help="Keys, with which others may make and read links.",
    examples=(
        "waypost key create newsletter --scope links:write",
        "waypost key list",
        "waypost key revoke 0123456789ab",
    ),
)


@group.command(
    "create",
    examples=(
        "waypost key create newsletter --scope links:read --scope links:write",
        "waypost key create backup --scope admin --json",
    ),
)
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help=f"What it is for; may be repeated: {', '.join(SCOPES)}.",
)
@with_json
def create(load: Load, name: str, scopes: tuple[str, ...], *, as_json: bool) -> None:
    """Make a key called NAME and print its token. This is the only time that it is shown."""
    from waypost.access.keys import make_key
    from waypost.access.operations import keep_key
    from waypost.cli.stores import with_links
    from waypost.kernel.clock import utc_now

    # Before a store is made, so that a wrong name or scope leaves no folder behind.
    made, token = make_key(name, scopes, utc_now())
    key = with_links(load(), lambda stores: keep_key(stores.keys, made, token), must_exist=False)
    if as_json:
        print_json(key)
        return
    print_line(key.token)
    say(f"keep it safe: it cannot be shown again. Its id is {key.id}")


@group.command("list", examples=("waypost key list", "waypost key list --json"))
@with_json
def list_all(load: Load, *, as_json: bool) -> None:
    """All keys, also revoked ones, oldest first."""
    from waypost.access.operations import list_keys
    from waypost.cli.stores import with_links

    keys = with_links(load(), lambda stores: list_keys(stores.keys))
    if as_json:
        print_json({"keys": keys})
        return
    for key in keys:
        ended = f"  revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
        print_line(f"{key.id}  {key.created_at:%Y-%m-%d}  {','.join(key.scopes):<24}  {key.name}{ended}")
    if not keys:
        say("no keys yet; next: waypost key create NAME --scope links:write")


@group.command("revoke", examples=("waypost key revoke 0123456789ab",))
@click.argument("key", metavar="ID")
@with_json
def revoke(load: Load, key: str, *, as_json: bool) -> None:
    """Make a key useless at once. Links that were made with it stay."""
    from waypost.access.operations import revoke_key
    from waypost.cli.stores import with_links

    revoked = with_links(load(), lambda stores: revoke_key(stores.keys, key))
    print_result(revoked, f"{revoked.id} ({revoked.name}) no longer opens anything", as_json=as_json)
