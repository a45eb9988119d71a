"""`make drill-import`: the drill on one store after the other. Exit 1 if a promise was broken."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from drills.importing.drill import drill
from drills.importing.plan import BUDGETS, Plan
from drills.importing.results import COLUMNS, write_results
from drills.importing.stores import STORES
from drills.importing.verdicts import Verdict
from drills.series import add_options, end, outcomes, seeds_of, table


def _options() -> argparse.Namespace:
    defaults = Plan()
    options = argparse.ArgumentParser(prog="drills.importing", description=__doc__)
    add_options(options, [*STORES])
    options.add_argument("--places", type=int, default=defaults.places, help="of the provider (default: %(default)s)")
    options.add_argument("--workers", type=int, default=defaults.workers, help="processes (SQLite: four at most)")
    options.add_argument("--rate", type=int, default=defaults.rate, help="requests a second that the budget allows")
    options.add_argument("--budget", choices=BUDGETS, help="where the budget is kept (default: drawn from the seed)")
    options.add_argument(
        "--away", type=float, help="seconds that the provider is away (default: by its size, up to 60)"
    )
    options.add_argument("--lease", type=float, default=defaults.lease, help="seconds (default: %(default)s)")
    options.add_argument("--kill-every", type=float, default=defaults.kill_every, help="seconds (default: %(default)s)")
    options.add_argument("--seconds", type=float, default=defaults.seconds, help="the longest that an import may take")
    options.add_argument("--results", action="store_true", help="write the table into drills/RESULTS.md")
    return options.parse_args()


def main() -> None:
    chosen = _options()
    plan = Plan(
        places=chosen.places,
        workers=chosen.workers,
        rate=chosen.rate,
        seconds=chosen.seconds,
        budget=chosen.budget,
        away=chosen.away,
        lease=chosen.lease,
        kill_every=chosen.kill_every,
    )

    async def run(store: str, seed: int, folder: Path) -> Sequence[Verdict]:
        return await drill(store, replace(plan, seed=seed), folder)

    stores = [*STORES] if chosen.store == "all" else [chosen.store]
    found = []
    for outcome in outcomes(run, stores, seeds_of(chosen.seed), as_documents=chosen.json):
        found.append(outcome)
        if chosen.results:
            write_results(plan.places, found)
    if len(found) > len(stores) and not chosen.json:
        print(table(found, COLUMNS))
    end(found)


if __name__ == "__main__":
    main()
