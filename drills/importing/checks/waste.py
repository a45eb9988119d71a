"""A request is asked twice only if whoever asked it first was killed, stopped or left by its store with it in hand."""

from collections import Counter
from collections.abc import Sequence

from drills.importing.imports import Done
from drills.importing.mishaps import Mishap
from drills.importing.requests import Request
from drills.importing.verdicts import Verdict
from drills.importing.view import Question

_EXAMPLES = 5


def check_waste(requests: Sequence[Request], mishaps: Sequence[Mishap], imports: Sequence[Done]) -> Verdict:
    """Within an import each page has a question of its own. Once it was answered in full, it has no reason to be asked
    again but that the page was never committed: because its worker was killed, or stopped until its lease was over,
    or because its store was gone.

    The jobs that a worker held at that moment say which question each of them had asked, or was about to.
    """
    pages = repeats = 0
    unexplained: list[str] = []
    for number, done in enumerate(imports):
        until = imports[number + 1].began if number + 1 < len(imports) else float("inf")
        asked = _answered(requests, done.began, until)
        hit = Counter(job.question for mishap in mishaps if done.began <= mishap.began < until for job in mishap.held)
        pages += len(asked)
        repeats += sum(times - 1 for times in asked.values())
        unexplained += [
            f"import {number + 1}: {question} was answered {times} times, and its holders hit {hit[question]} times"
            for question, times in asked.items()
            if times - 1 > hit[question]
        ]
    in_flight = sum(len(mishap.held) for mishap in mishaps)
    kills, stops = (sum(mishap.kind == kind for mishap in mishaps) for kind in ("kill", "stop"))
    return Verdict(
        "no request is wasted but those in flight at a kill, a stop or the end of the store",
        not unexplained and repeats <= in_flight,
        f"{pages:,} pages answered, {repeats} of them again; {kills} kills and {stops} stops hit {in_flight} jobs;"
        f" {len(unexplained)} repeats unexplained",
        {"pages": pages, "repeats": repeats, "in_flight": in_flight, "kills": kills, "stops": stops},
        unexplained[:_EXAMPLES],
    )


def _answered(requests: Sequence[Request], began: float, until: float) -> Counter[Question]:
    return Counter(
        question
        for request in requests
        if began <= request.monotonic < until and request.is_answered and (question := request.question)
    )
