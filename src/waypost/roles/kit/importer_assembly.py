"""Puts an importer together, from what was configured and opened."""

from waypost.bootstrap.jobs import open_jobs
from waypost.bootstrap.stores import Stores
from waypost.importing.engine import Engine
from waypost.importing.lone_worker import LoneWorker
from waypost.importing.plan import limits_of
from waypost.importing.run import Importer, Workforce
from waypost.importing.source import Source
from waypost.roles.kit.import_processes import ImportProcesses
from waypost.scaling.ratelimit.budget import Budget
from waypost.settings import Settings


def make_engine(settings: Settings, stores: Stores, source: Source, budget: Budget) -> Engine:
    return Engine(
        source, stores.pages, stores.imports, budget, settings=settings.importing, max_wait=settings.budget.max_wait
    )


def make_importer(
    settings: Settings, stores: Stores, source: Source, budget: Budget, *, owner: str, processes: int = 1
) -> Importer:
    """An importer whose work is done by this process, which holds leases as `owner`, or by up to `processes` others."""

    def hire(import_id: str, unfinished: int) -> Workforce:
        size = min(processes, unfinished)
        if size > 1:
            return ImportProcesses(settings, import_id, size)
        handler = make_engine(settings, stores, source, budget).work
        return LoneWorker(
            import_id, handler, stores.jobs, lambda: open_jobs(settings), owner=owner, settings=settings.jobs
        )

    return Importer(
        source,
        budget,
        imports=stores.imports,
        jobs=stores.jobs,
        pages=stores.pages,
        facts=stores.facts,
        hire=hire,
        limits=limits_of(source, settings.budget.limits),
        max_wait=settings.budget.max_wait,
    )
