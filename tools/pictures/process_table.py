"""What the code does not say in one place: what each kind of process is for, and what it does with what all share.

It is compared with the code before it is drawn (process_check.py).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of process. `modules` are what it runs; `threads` are named as in the code.

    `pool` is what would hold the event loop up, and is handed to asyncio's threads.
    """

    title: str
    says: str
    modules: tuple[str, ...]
    threads: tuple[str, ...] = ()
    pool: str = ""
    children: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shared:
    """Something that processes share. `modules` are the ways to it, and `ports` name what it can be kept in."""

    name: str
    says: str
    modules: tuple[str, ...]
    cells: dict[str, str]
    ports: tuple[str, ...] = ()


THREADS = {
    "lease-renewer": "on its own loop",
    "sqlite": "writes, reads",
    "passwords": "two, to hash",
    "name-lookup": "few, if set",
    "check": "one each, by doctor",
}
# By the module that starts them.
CHILDREN = {
    "roles.kit.importer_assembly": ("worker run", "by import run"),
    "roles.kit.snapshot_build": ("build_child", "by snapshot build"),
}

KINDS = (
    Kind(
        "worker",
        "does jobs: imports and chores",
        ("roles.worker",),
        ("lease-renewer", "sqlite"),
        pool="builds, reads files",
    ),
    Kind("scheduler", "enqueues what is due", ("roles.scheduler",), ("sqlite",)),
    Kind("serve places", "answers from a snapshot; opens no store", ("roles.serve",), pool="opens new generations"),
    Kind(
        "serve links",
        "or serve redirect, which makes none",
        ("roles.serve",),
        ("sqlite", "passwords", "name-lookup"),
        pool="compares passwords",
    ),
    Kind(
        "up",
        "everything in one process",
        ("roles.up",),
        ("lease-renewer", "sqlite", "passwords", "name-lookup"),
        pool="all of these",
    ),
    Kind("simulator", "a provider to play with", ("roles.simulator",), pool="makes answers"),
    Kind(
        "commands",
        "import run, snapshot build, doctor",
        ("cli.import_run", "cli.snapshot_build", "cli.doctor"),
        ("lease-renewer", "sqlite", "check"),
        children=("roles.kit.importer_assembly", "roles.kit.snapshot_build"),
    ),
)
# Two kinds that `waypost serve all` is in one process.
SERVE_ALL = ("serve places", "serve links")

SHARED = (
    Shared(
        "provider",
        "somebody else's API, or files, by the kind of source",
        ("bootstrap.sources", "simulator.app"),
        {"worker": "fetches pages", "up": "fetches pages", "simulator": "answers", "commands": "fetch pages"},
        ports=("Source",),
    ),
    Shared(
        "budgets",
        "turns to ask a provider, in order",
        ("bootstrap.budgets",),
        {"worker": "takes turns", "up": "takes turns", "commands": "take turns"},
        ports=("BudgetRecords", "BudgetStore"),
    ),
    Shared(
        "jobs",
        "shards under leases, in the store or apart from it",
        ("bootstrap.jobs",),
        {
            "worker": "claims, renews, ends",
            "scheduler": "enqueues",
            "up": "enqueues, then as a worker",
            "commands": "enqueue, then as a worker",
        },
        ports=("JobStore",),
    ),
    Shared(
        "store",
        "places, imports, events; links, visits, keys (not in MongoDB)",
        ("bootstrap.stores",),
        {
            "worker": "commits pages",
            "scheduler": "notes what is enqueued",
            "serve links": "keeps links, counts visits",
            "up": "all of these",
            "commands": "commit pages, read places",
        },
        ports=("PlaceStore",),
    ),
    Shared(
        "snapshots",
        "a folder of generations that never change; its file CURRENT names the one to serve",
        ("serving.shelf",),
        {
            "worker": "builds",
            "serve places": "maps, read-only",
            "up": "builds and maps",
            "commands": "build",
        },
    ),
    Shared(
        "spool",
        "a folder of visits on their way to the store; each process has a file, and others ship it if it dies",
        ("sharing.visits.spool",),
        {"serve links": "appends, ships", "up": "appends, ships"},
    ),
)
