"""The command `waypost snapshot`, and its verbs."""

from waypost.cli import snapshot_build, snapshot_diff, snapshot_export, snapshot_pull, snapshot_shelf
from waypost.cli.frame import Group

group = Group(
    "snapshot",
    help="The compiled form of all places, from which they are served.",
    examples=("waypost snapshot build", "waypost snapshot list", "waypost snapshot pull https://example.org/snapshots"),
)

for verb in (
    snapshot_build.build,
    snapshot_shelf.list_generations,
    snapshot_shelf.info,
    snapshot_shelf.verify,
    snapshot_shelf.use,
    snapshot_diff.diff,
    snapshot_shelf.prune,
    snapshot_pull.pull,
    snapshot_export.export,
):
    group.add_command(verb)
