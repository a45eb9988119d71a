"""`make drill-visits`: the drill on one store after the other. Exit 1 if a promise was broken."""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

from drills.importing.programs import ProgramFailed
from drills.importing.verdicts import Outcome, Verdict, as_json, as_text
from drills.visits.drill import TooLong, drill
from drills.visits.plan import Plan
from drills.visits.spool import NotShipped
from drills.visits.stores import STORES


def _options() -> argparse.Namespace:
    defaults = Plan()
    options = argparse.ArgumentParser(prog="drills.visits", description=__doc__)
    options.add_argument("--store", choices=[*STORES, "all"], default="all", help="where links and visits are kept")
    options.add_argument("--redirects", type=int, default=defaults.redirects, help="to be answered (%(default)s)")
    options.add_argument("--seed", type=int, default=defaults.seed, help="of what is asked, and of mishaps")
    options.add_argument("--servers", type=int, default=defaults.servers, help="processes (default: %(default)s)")
    options.add_argument("--rate", type=int, default=defaults.rate, help="requests a second, at most (%(default)s)")
    options.add_argument("--seconds", type=float, default=defaults.seconds, help="the longest that clients may ask")
    options.add_argument("--json", action="store_true", help="a JSON document for each store, one a line")
    return options.parse_args()


def _try(store: str, plan: Plan) -> Outcome:
    """The folder goes when all is well, and stays with its logs when it is not."""
    folder = Path(tempfile.mkdtemp(prefix=f"waypost-drill-{store}-"))
    began = time.monotonic()
    try:
        verdicts = asyncio.run(drill(store, plan, folder))
    except (TooLong, NotShipped, ProgramFailed) as failure:
        verdicts = [Verdict("it comes to its end", kept=False, found=str(failure))]
    except BaseException as error:
        error.add_note(f"the logs of the drill are in {folder}")
        raise
    outcome = Outcome(store, verdicts, time.monotonic() - began)
    if outcome.kept:
        shutil.rmtree(folder)
        return outcome
    return Outcome(store, verdicts, outcome.seconds, str(folder))


def main() -> None:
    chosen = _options()
    plan = Plan(chosen.redirects, chosen.seed, chosen.servers, chosen.rate, chosen.seconds)
    is_kept = True
    for store in STORES if chosen.store == "all" else [chosen.store]:
        outcome = _try(store, plan)
        print(as_json(outcome) if chosen.json else as_text(outcome), flush=True)
        is_kept &= outcome.kept
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
