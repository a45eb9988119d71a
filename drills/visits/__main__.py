"""`make drill-visits`: the drill on one store after the other. Exit 1 if a promise was broken."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from drills.importing.verdicts import Verdict
from drills.series import add_options, end, figure, outcomes, seeds_of, table
from drills.visits.drill import drill
from drills.visits.plan import Plan
from drills.visits.stores import STORES

_COLUMNS = (
    figure("answered", "every answered redirect", "answered"),
    figure("counted", "every answered redirect", "counted"),
    figure("missing", "every answered redirect", "missing"),
    figure("in flight at a kill", "nothing is counted but", "in_flight"),
    figure("kills", "were killed and stopped", "kills"),
    figure("stops", "were killed and stopped", "stops"),
)


def _options() -> argparse.Namespace:
    defaults = Plan()
    options = argparse.ArgumentParser(prog="drills.visits", description=__doc__)
    add_options(options, [*STORES])
    options.add_argument("--redirects", type=int, default=defaults.redirects, help="to be answered (%(default)s)")
    options.add_argument("--servers", type=int, default=defaults.servers, help="processes (default: %(default)s)")
    options.add_argument("--rate", type=int, default=defaults.rate, help="requests a second, at most (%(default)s)")
    options.add_argument("--seconds", type=float, default=defaults.seconds, help="the longest that clients may ask")
    return options.parse_args()


def main() -> None:
    chosen = _options()
    plan = Plan(redirects=chosen.redirects, servers=chosen.servers, rate=chosen.rate, seconds=chosen.seconds)

    async def run(store: str, seed: int, folder: Path) -> Sequence[Verdict]:
        return await drill(store, replace(plan, seed=seed), folder)

    stores = [*STORES] if chosen.store == "all" else [chosen.store]
    found = list(outcomes(run, stores, seeds_of(chosen.seed), as_documents=chosen.json))
    if len(found) > len(stores):
        print(table(found, _COLUMNS))
    end(found)


if __name__ == "__main__":
    main()
