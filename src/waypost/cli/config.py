"""The command `waypost config`, and its verbs."""

from waypost.cli.frame import Group, Load, print_json, print_line, with_json

group = Group(
    "config",
    help="What is configured.",
    examples=("waypost config show", "WAYPOST_LEASE=1m waypost config show --json"),
)


@group.command("show", examples=("waypost config show", "waypost config show --config other.toml --json"))
@with_json
def show(load: Load, *, as_json: bool) -> None:
    """What is in force, and where each value came from.

    A flag wins over a WAYPOST_* variable, which wins over waypost.toml, which wins over the default. Secrets are shown
    as stars.
    """
    found = load().found
    if as_json:
        print_json(
            {
                name: {"value": each.shown(), "origin": each.origin, "variable": each.setting.variable}
                for name, each in found.items()
            }
        )
        return
    rows = [(name, each.shown() or "-", each.origin, each.setting.explain) for name, each in found.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print_line("  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]))
