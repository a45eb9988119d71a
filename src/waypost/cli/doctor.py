"""The command `waypost doctor`."""

from typing import TYPE_CHECKING

import click

from waypost.cli.frame import Command, Load, json_option, print_json, print_line, with_settings

if TYPE_CHECKING:
    from waypost.roles.kit.finding import Finding


@click.command("doctor", cls=Command, examples=("waypost doctor", "waypost doctor --data /var/lib/waypost --json"))
@json_option
@with_settings
def doctor(load: Load, *, as_json: bool) -> int:
    """Check this machine and all stores that are configured. Exit code 1 when something has to be done."""
    from waypost.roles.kit.doctor import examine, is_fit

    findings = examine(load())
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            print_line(_line(finding))
    return 0 if is_fit(findings) else 1


def _line(finding: "Finding") -> str:
    mark = "ok  " if finding.ok else "FAIL" if finding.needed else "warn"
    found = " ".join(finding.found.split())
    return f"{mark}  {finding.name}: {found}" + ("" if finding.ok else f"; next: {finding.advice}")
