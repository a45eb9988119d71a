"""A drill with one seed or many, on one store or all: each drill's name, options and table, and what to exit with."""

import argparse
import asyncio
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from drills.importing.programs import ProgramFailed
from drills.importing.talking import say
from drills.importing.verdicts import Outcome, Verdict, as_json, as_text

_MOST = 2**31
# A store and a seed, in an empty folder.
Run = Callable[[str, int, Path], Awaitable[Sequence[Verdict]]]


class TooLong(Exception):
    """Something did not end within the time that it was given."""


@dataclass(frozen=True)
class Column:
    """Of the table: what a verdict's figures say, by a part of its promise; nothing where it was never reached."""

    title: str
    promise: str
    text: Callable[[Verdict], str]

    def of(self, outcome: Outcome) -> str:
        found = [verdict for verdict in outcome.verdicts if self.promise in verdict.promise]
        return self.text(found[0]) if found else ""


def figure(title: str, promise: str, name: str, form: str = ",.0f") -> Column:
    return Column(title, promise, lambda verdict: format(verdict.figures.get(name, 0), form))


def add_options(options: argparse.ArgumentParser, stores: Sequence[str]) -> None:
    options.add_argument("--store", choices=[*stores, "all"], default="all", help="where it all is kept")
    options.add_argument("--seed", type=int, help="decides all that is left to chance (default: a random one)")
    options.add_argument("--json", action="store_true", help="a JSON document for each run, one a line")


def seeds_of(seed: int | None) -> list[int]:
    """As many as SEEDS says, or one: at random, or from this one on."""
    count = int(os.environ.get("SEEDS") or 1)
    return [secrets.randbelow(_MOST) if seed is None else seed + number for number in range(count)]


def outcomes(run: Run, stores: Sequence[str], seeds: Sequence[int], *, as_documents: bool) -> Iterator[Outcome]:
    """One after the other; each is told when it begins and when it has ended, with its seed."""
    for store in stores:
        for seed in seeds:
            say(f"{store}: --seed {seed}")
            outcome = _try(run, store, seed)
            print(as_json(outcome) if as_documents else as_text(outcome), flush=True)
            say(f"{store}: --seed {seed}: {'all promises kept' if outcome.kept else 'BROKEN'}")
            yield outcome


def _try(run: Run, store: str, seed: int) -> Outcome:
    """The folder goes when all is well, and stays with its logs when it is not."""
    folder = Path(tempfile.mkdtemp(prefix=f"waypost-drill-{store}-"))
    began = time.monotonic()
    try:
        verdicts = asyncio.run(_of(run(store, seed, folder)))
    except (TooLong, ProgramFailed) as failure:
        verdicts = [Verdict("it comes to its end", kept=False, found=str(failure))]
    except BaseException as error:
        error.add_note(f"this was {store} with --seed {seed}; the logs of the drill are in {folder}")
        raise
    outcome = Outcome(store, seed, verdicts, time.monotonic() - began)
    if outcome.kept:
        shutil.rmtree(folder)
        return outcome
    return Outcome(store, seed, verdicts, outcome.seconds, str(folder))


async def _of(verdicts: Awaitable[Sequence[Verdict]]) -> Sequence[Verdict]:
    return await verdicts


def table(found: Sequence[Outcome], columns: Sequence[Column]) -> str:
    """In Markdown, a row for each run."""
    titles = ["store", "seed", "seconds", *(column.title for column in columns), "promises"]
    rows = [
        [
            *(outcome.store, str(outcome.seed), f"{outcome.seconds:.0f}"),
            *(column.of(outcome) for column in columns),
            "all kept" if outcome.kept else f"BROKEN: {outcome.broken}",
        ]
        for outcome in found
    ]
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def end(found: Sequence[Outcome]) -> None:
    sys.exit(0 if all(outcome.kept for outcome in found) else 1)
