"""The command `waypost import`, and its verbs."""

from waypost.cli import import_run, import_status
from waypost.cli.frame import Group

group = Group(
    "import",
    help="Bring places from a provider into the store.",
    examples=(
        "waypost import run --source ocm --country DE,FR,NL",
        "WAYPOST_OCM_URL=http://127.0.0.1:8090 waypost import run --source ocm --country DE --json",
    ),
)

for verb in (
    import_run.plan,
    import_run.start,
    import_status.status,
    import_status.cancel,
    import_status.report,
    import_run.run,
):
    group.add_command(verb)
