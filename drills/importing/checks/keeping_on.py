"""Nobody who is gone holds up who is there: the pace is used, and work goes on when the provider is back."""

from collections.abc import Sequence

from drills.importing.pace import Sample, Second, seconds
from drills.importing.provider import Absence
from drills.importing.requests import Request, asked_again
from drills.importing.verdicts import Verdict

_LEAST = 0.9
# What is a little late in one second is early in the next.
_MOST = 1.1
# Of fewer seconds a single one decides.
_ENOUGH_SECONDS = 20
# In any case, also in seconds in which the machine was busy.
_LEAST_WHEN_BUSY = 0.1
# Where so little of the processors' time is left, others have the machine, or the fleet does more than the machine can.
# Who waits for a turn that does not come leaves it idle, so that this excuses nobody who is starved.
_IDLE = 0.1
# Seconds before and after an absence that are not judged: others have to notice.
_BEFORE, _AFTER = 1.0, 5.0
# As long as it may take until the provider is asked again, once it is back: as long as it was away, and a little.
_COMEBACK = 15.0


def check_pace(
    requests: Sequence[Request], samples: Sequence[Sample], rate: int, held_up: Sequence[tuple[float, float]]
) -> Verdict:
    """Of what the budget allows when no penalty is on, and of what those could use who were there.

    Seconds in which the machine was busy are left out where enough others are left.
    """
    free = [
        each
        for each in seconds(requests, samples, rate)
        if each.can_be_judged and not any(began - _BEFORE <= each.began <= ended + _AFTER for began, ended in held_up)
    ]
    calm = [each for each in free if each.idle >= _IDLE]
    judged = calm if len(calm) >= _ENOUGH_SECONDS else free
    used, all_used = _share(judged), _share(free)
    worst = sorted(judged, key=lambda each: each.came - each.expected)[:3]
    return Verdict(
        f"{_LEAST:.0%} of the pace is used while workers are killed",
        used >= _LEAST and all_used >= _LEAST_WHEN_BUSY and bool(free),
        f"{used:.0%} of it in {len(judged)} seconds with enough at work, without a penalty or an absence;"
        f" {all_used:.0%} with {len(free) - len(judged)} more, in which the machine was busy",
        {"used": used, "seconds": len(judged), "busy": len(free) - len(judged), "all_used": all_used},
        [] if used >= _LEAST else [f"{each.came} came in a second, {each.expected:.0f} could have" for each in worst],
    )


def _share(some: Sequence[Second]) -> float:
    """All of it if there is nothing to judge. One second does not make up for another."""
    came = sum(min(each.came, each.expected * _MOST) for each in some)
    return came / sum(each.expected for each in some) if some else 1.0


def check_comeback(requests: Sequence[Request], absences: Sequence[Absence]) -> Verdict:
    waits = [(asked_again(absence, requests) - absence.ended, absence) for absence in absences]
    late = [
        f"it was away for {absence.ended - absence.began:.0f} s, and not asked for {wait:.0f} s more"
        for wait, absence in waits
        if wait > absence.ended - absence.began + _COMEBACK
    ]
    found = ", ".join(
        f"{wait:.1f} s after it had been away for {each.ended - each.began:.0f} s" for wait, each in waits
    )
    longest = max((wait for wait, _ in waits), default=0.0)
    return Verdict("a provider that was away is asked again", not late, found, {"longest": longest}, late)
