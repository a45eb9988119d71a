"""The command `waypost doctor`."""

from typing import TYPE_CHECKING

from waypost.cli.frame import Load, command, print_result, with_json

if TYPE_CHECKING:
    from waypost.roles.kit.doctor_checks import Finding


@command("doctor", examples=("waypost doctor", "waypost doctor --data /var/lib/waypost --json"))
@with_json
def doctor(load: Load, *, as_json: bool) -> int:
    """Check this machine and all stores that are configured. Exit code 1 when something has to be done."""
    from waypost.roles.kit.doctor import examine, is_fit

    findings = examine(load())
    print_result(findings, "\n".join(map(_line, findings)), as_json=as_json)
    return 0 if is_fit(findings) else 1


def _line(finding: "Finding") -> str:
    mark = "ok  " if finding.ok else "FAIL" if finding.needed else "warn"
    found = " ".join(finding.found.split())
    return f"{mark}  {finding.name}: {found}" + ("" if finding.ok else f"; next: {finding.advice}")
