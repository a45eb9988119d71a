"""`make drill-import`: the drill on one store after the other. Exit 1 if a promise was broken."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from drills.importing.drill import drill
from drills.importing.imports import TooLong
from drills.importing.plan import Plan
from drills.importing.programs import ProgramFailed
from drills.importing.stores import STORES
from drills.importing.verdicts import Outcome, Verdict, as_json, as_text


def _options() -> argparse.Namespace:
    defaults = Plan()
    options = argparse.ArgumentParser(prog="drills.importing", description=__doc__)
    options.add_argument("--store", choices=[*STORES, "all"], default="all", help="where places and jobs are kept")
    options.add_argument("--places", type=int, default=defaults.places, help="of the provider (default: %(default)s)")
    options.add_argument("--seed", type=int, default=defaults.seed, help="of its places and faults, and of mishaps")
    options.add_argument("--workers", type=int, default=defaults.workers, help="processes (SQLite: four at most)")
    options.add_argument("--rate", type=int, default=defaults.rate, help="requests a second that the budget allows")
    options.add_argument("--seconds", type=float, default=defaults.seconds, help="the longest that an import may take")
    options.add_argument("--json", action="store_true", help="a JSON document for each store, one a line")
    return options.parse_args()


def _try(store: str, plan: Plan) -> Outcome:
    """The folder goes when all is well, and stays with its logs when it is not."""
    folder = Path(tempfile.mkdtemp(prefix=f"waypost-drill-{store}-"))
    began = time.monotonic()
    try:
        verdicts = asyncio.run(drill(store, plan, folder))
    except (TooLong, ProgramFailed) as failure:
        verdicts = [Verdict("it comes to its end", kept=False, found=str(failure))]
    except BaseException as error:
        error.add_note(f"the logs of the drill are in {folder}")
        raise
    seconds = time.monotonic() - began
    if all(verdict.kept for verdict in verdicts):
        shutil.rmtree(folder)
        return Outcome(store, verdicts, seconds)
    return Outcome(store, verdicts, seconds, str(folder))


def main() -> None:
    chosen = _options()
    plan = Plan(chosen.places, chosen.seed, chosen.workers, chosen.rate, chosen.seconds)
    is_kept = True
    for store in STORES if chosen.store == "all" else [chosen.store]:
        outcome = _try(store, plan)
        print(as_json(outcome) if chosen.json else as_text(outcome), flush=True)
        is_kept &= outcome.kept
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
