"""The tree of commands."""

import click

from waypost import __version__
from waypost.cli import (
    blocks,
    budgets,
    config,
    database,
    doctor,
    imports,
    jobs,
    keys,
    links,
    places,
    reports,
    schedulers,
    serve,
    simulator,
    snapshots,
    sources,
    up,
    vocabularies,
    workers,
)
from waypost.cli.frame import Group

waypost = Group(
    "waypost",
    help="Import places from rate-limited APIs, serve them from memory-mapped snapshots, share them by links.",
    examples=(
        "waypost up                                         everything in one process, at http://127.0.0.1:8080",
        "waypost import run --source ocm --country DE,FR    bring places into the store",
        "waypost link create https://example.org            a link made of words",
    ),
)
click.version_option(__version__, message="%(version)s")(waypost)

for command in (
    up.up,
    imports.group,
    workers.group,
    schedulers.group,
    jobs.group,
    sources.group,
    budgets.group,
    places.group,
    snapshots.group,
    serve.group,
    links.group,
    keys.group,
    reports.group,
    blocks.group,
    vocabularies.group,
    simulator.group,
    database.group,
    config.group,
    doctor.doctor,
):
    waypost.add_command(command)
