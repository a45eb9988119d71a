"""A drill in which something that was planned never happened has not been run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf

from drills.importing.mishaps import Mishap
from drills.importing.plan import FAULTS, Plan
from drills.importing.provider import Absence
from drills.importing.requests import Request, asked_again
from drills.importing.verdicts import Verdict

_NOT_MODIFIED = 304


def tried(
    requests: Sequence[Request],
    others: Sequence[Request],
    mishaps: Sequence[Mishap],
    absences: Sequence[Absence],
    changes: Mapping[str, int],
    station_changes: Mapping[str, int],
) -> Mapping[str, int]:
    """How often each kind happened. `others` are the requests of the provider without order."""
    met = Counter(request.fault for request in requests if request.fault)
    kinds = Counter(mishap.kind for mishap in mishaps)
    hit = [mishap for mishap in mishaps if mishap.kind == "restart" and mishap.held]
    return {
        **{fault: met[fault] for fault in FAULTS},
        "kill": kinds["kill"],
        "stop": kinds["stop"],
        "stopped worker overtaken": sum(mishap.overtaken for mishap in mishaps if mishap.kind == "stop"),
        "end of the store with jobs in hand": len(hit),
        "absence of the provider with work to do": sum(asked_again(each, requests) < inf for each in absences),
        **{f"{what} at the provider": changes.get(what, 0) for what in ("edits", "deletions", "additions")},
        **{
            f"{what} at the one without order": station_changes.get(what, 0)
            for what in ("edits", "deletions", "additions", "undone edits")
        },
        "page of a window": sum("since=" in request.query for request in others),
        "304": sum(request.status == _NOT_MODIFIED for request in others),
    }


def check_tried(found: Mapping[str, int], plan: Plan) -> Verdict:
    missing = [what for what, count in found.items() if not count]
    return Verdict(
        "everything that was planned happened, or it has not been run",
        not missing,
        ", ".join(f"{what}: {count}" for what, count in found.items())
        + f"; budget in: {plan.budget_in}; away: {plan.away_seconds:g} s",
        found,
        [f"this never happened, so that the drill has not been run: {what}" for what in missing],
    )
