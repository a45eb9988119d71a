"""The command `waypost source`, and its verbs."""

import click

from waypost.cli.frame import Group, Load, json_option, print_json, with_settings

group = Group(
    "source",
    help="Which sources there are, and whether the file of one does what it should.",
    examples=("waypost source list", "waypost source check sources/lighthouses.toml --ask"),
)


@group.command("list", examples=("waypost source list", "WAYPOST_SOURCES='sources/*.toml' waypost source list --json"))
@json_option
@with_settings
def list_(load: Load, *, as_json: bool) -> None:
    """Every source that can be imported from, and the kinds that a file of one may have.

    A file that cannot be used, or a plugin that does not work, stands there with its error.
    """
    from waypost.cli.source_view import print_overview
    from waypost.roles.kit.loop import run as run_role
    from waypost.roles.sources import overview

    settings = load()
    found, _ = run_role(lambda _stop: overview(settings))
    if as_json:
        print_json(found)
    else:
        print_overview(found)


@group.command(
    "check",
    examples=(
        "waypost source check sources/lighthouses.toml",
        "LIGHTS_KEY=… waypost source check sources/lighthouses.toml --ask",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--ask", is_flag=True, help="Ask the provider once, within the budget, and show what was understood.")
@json_option
@with_settings
def check(load: Load, file: str, *, ask: bool, as_json: bool) -> int:
    """Read the file of a source and say what it will ask, without secrets.

    With --ask, one real request shows how its first three records are understood, or which field of which record is
    not, and what there is instead. Ends with 2 when the file is wrong, and with 1 when the provider fails.
    """
    from waypost.cli.source_view import print_checked
    from waypost.roles.kit.loop import run as run_role
    from waypost.roles.sources import check_source

    settings = load({"source": file})
    checked, _ = run_role(lambda _stop: check_source(settings, file, ask=ask))
    if as_json:
        print_json(checked)
    else:
        print_checked(checked)
    return 2 if checked.fits is False else 0
