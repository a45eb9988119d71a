"""The command `waypost doctor`."""

import click

from waypost.cli.frame import Command, Load, json_option, print_json, with_settings


@click.command("doctor", cls=Command, examples=("waypost doctor", "waypost doctor --data /var/lib/waypost --json"))
@json_option
@with_settings
def doctor(load: Load, *, as_json: bool) -> int:
    """Check this machine and say what is missing. Exit code 1 when something has to be done."""
    from waypost.roles.kit.doctor import examine

    findings = examine(load())
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            click.echo(
                f"{'ok  ' if finding.ok else 'FAIL' if finding.needed else 'warn'}  {finding.name}: {finding.found}"
            )
            if not finding.ok and finding.advice:
                click.echo(f"      {finding.advice}")
    return 1 if any(finding.needed and not finding.ok for finding in findings) else 0
