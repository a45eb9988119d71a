"""The command `waypost key`, and its verbs."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from waypost.access.keys import SCOPES
from waypost.cli.frame import Group, Load, print_json, print_line, print_result, read_by, say, with_json
from waypost.cli.moments import moment_ahead
from waypost.kernel.quantities import parse_duration_between

if TYPE_CHECKING:
    from waypost.access.operations import KeyView

group = Group(
    "key",
    help="Keys, with which others may make and read links.",
    examples=(
        "waypost key create newsletter --scope links:write --expires 90d",
        "waypost key list",
        "waypost key rotate newsletter --overlap 7d",
        "waypost key revoke 0123456789ab",
    ),
)


_read_overlap = parse_duration_between("1s", "366d")


@read_by
def _overlap(text: str) -> timedelta:
    return timedelta() if text.strip() == "0" else timedelta(seconds=_read_overlap(text))


@group.command(
    "create",
    examples=(
        "waypost key create newsletter --scope links:read --scope links:write --expires 90d",
        "waypost key create backup --scope admin --json",
        "waypost key create ci --scope links:write --file keys.toml",
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
@click.option(
    "--expires",
    "expires_at",
    metavar="WHEN",
    callback=moment_ahead,
    help="When it ends: a moment, or a time such as 90d (default: never).",
)
@click.option("--file", help="Add its digest to this file of keys instead of the store.")
@with_json
def create(
    load: Load, name: str, scopes: tuple[str, ...], expires_at: datetime | None, file: str | None, *, as_json: bool
) -> None:
    """Make a key called NAME and print its token. This is the only time that it is shown."""
    from waypost.access.keys import make_key
    from waypost.access.operations import file_key, keep_key
    from waypost.cli.stores import with_links
    from waypost.kernel.clock import utc_now

    settings = load()
    # Before a store is made, so that a wrong name or scope leaves no folder behind.
    made, token = make_key(name, scopes, utc_now(), expires_at)
    if file:
        key = file_key(Path(file), made, token)
    else:
        key = with_links(settings, lambda stores: keep_key(stores.keys, made, token), must_exist=False)
    _show_token(key, as_json=as_json)


@group.command("list", examples=("waypost key list", "waypost key list --json"))
@with_json
def list_all(load: Load, *, as_json: bool) -> None:
    """All keys, also expired and revoked ones, oldest first; then those of a file and of the environment."""
    from waypost.access.configured_keys import ConfiguredKeys
    from waypost.access.operations import list_keys
    from waypost.cli.stores import with_links

    settings = load()
    configured = ConfiguredKeys(settings.keys)
    keys = with_links(settings, lambda stores: list_keys(stores.keys, configured))
    if as_json:
        print_json({"keys": keys})
        return
    for key in keys:
        scopes = ",".join(key.scopes)
        print_line(f"{key.id}  {key.created_at:%Y-%m-%d}  {scopes:<24}  {key.name}  {_life(key)}")
    if not keys:
        say("no keys yet; next: waypost key create NAME --scope links:write")


@group.command(
    "rotate",
    examples=("waypost key rotate newsletter", "waypost key rotate 0123456789ab --overlap 1h --expires 90d"),
)
@click.argument("key", metavar="NAME_OR_ID")
@click.option(
    "--overlap",
    default="7d",
    show_default=True,
    callback=_overlap,
    help="How long the secret so far stays valid beside the new one; 0 ends it now.",
)
@click.option(
    "--expires",
    "expires_at",
    metavar="WHEN",
    callback=moment_ahead,
    help="When the new secret ends: a moment, or a time such as 90d (default: as before).",
)
@with_json
def rotate(load: Load, key: str, overlap: timedelta, expires_at: datetime | None, *, as_json: bool) -> None:
    """Give a key another secret and print its token. The key keeps its id, its scopes and its links."""
    from waypost.access.operations import rotate_key
    from waypost.cli.stores import with_links

    rotated = with_links(load(), lambda stores: rotate_key(stores.keys, key, overlap=overlap, expires_at=expires_at))
    _show_token(rotated, as_json=as_json)
    if not as_json:
        say(f"the secret before it {_until(rotated.old_until)}")


@group.command("revoke", examples=("waypost key revoke 0123456789ab", "waypost key revoke newsletter"))
@click.argument("key", metavar="NAME_OR_ID")
@with_json
def revoke(load: Load, key: str, *, as_json: bool) -> None:
    """Make a key useless at once. Links that were made with it stay."""
    from waypost.access.operations import revoke_key
    from waypost.cli.stores import with_links

    revoked = with_links(load(), lambda stores: revoke_key(stores.keys, key))
    print_result(revoked, f"{revoked.id} ({revoked.name}) no longer opens anything", as_json=as_json)


def _show_token(key: "KeyView", *, as_json: bool) -> None:
    if as_json:
        print_json(key)
        return
    print_line(key.token)
    say(f"keep it safe: it cannot be shown again. Its id is {key.id}")


def _life(key: "KeyView") -> str:
    """What became of a key, or will."""
    if key.kept == "store":
        told = [f"used {key.used_at:%Y-%m-%d %H:%M}" if key.used_at else "never used"]
    else:
        told = [f"from the {key.kept}"]
    if key.revoked_at:
        told.append(f"revoked {key.revoked_at:%Y-%m-%d}")
    elif key.expires_at:
        told.append(f"{'expired' if key.state == 'expired' else 'expires'} {key.expires_at:%Y-%m-%d %H:%M}")
    if key.old_until:
        told.append(f"older secret {_until(key.old_until)}")
    return ", ".join(told)


def _until(moment: datetime | None) -> str:
    return f"is valid until {moment:%Y-%m-%d %H:%M} UTC" if moment else "no longer opens anything"
