"""Nobody asked more often than the budget allows, nor before a refusal was over."""

from collections.abc import Iterator, Sequence

from drills.importing.mishaps import Mishap
from drills.importing.probes import Probes
from drills.importing.provider import Absence
from drills.importing.requests import Request
from drills.importing.verdicts import Verdict

_BURST = 1
_WINDOWS = (1.0, 10.0)
# Seconds of the rate that a window may see in addition, because requests that were due before it arrive in it: they
# leave up to 0.05 s late, after which a turn is lost, and then take as long to arrive as two of our own took at most at
# that time, one for the connection and one for the request; but there is no excuse for more than 0.5 s.
_LATE, _LATEST = 0.05, 0.5
# What the simulator says with its 429, and how long it may take until all have heard of it: the answer travels to one
# worker, from there to the budget, and from there to all the others, whose requests may be under way.
_RETRY_AFTER = 1.0
_HEARD = 0.3
_EXAMPLES = 5


def check_rate(
    requests: Sequence[Request],
    rate: int,
    probes: Probes,
    mishaps: Sequence[Mishap],
    absences: Sequence[Absence] = (),
    of: str = "",
) -> Verdict:
    """A provider that comes back accepts connections before it reads from them, and then has all at once what was sent
    meanwhile: for that there is no bound but the time that our own request took. A worker that was stopped between its
    last look at the clock and the request sends that one when it goes on.
    """
    went_on = [mishap.ended for mishap in mishaps if mishap.kind == "stop"]
    times = [request.monotonic for request in requests]
    most = {f"most_in_{seconds:g}_s": 0 for seconds in _WINDOWS}
    crowded = 0
    examples: list[str] = []
    for seconds, name in zip(_WINDOWS, most, strict=True):
        for began, count in _windows(times, seconds):
            most[name] = max(most[name], count)
            if count > rate * (seconds + _LATE) + _BURST:
                crowded += 1
                slowest = probes.slowest(began - _LATEST, began + seconds)
                came_back = any(began - _LATEST <= each.ended <= began + seconds for each in absences)
                arriving = 2 * slowest if came_back else min(2 * slowest, _LATEST)
                late = sum(began - _LATE <= ended <= began + seconds for ended in went_on)
                if count > rate * (seconds + _LATE + arriving) + _BURST + late:
                    examples.append(f"{count} requests in {seconds:g} s, when one took {slowest:.3f} s to arrive")
    found = ", ".join(f"{count} in {seconds:g} s" for seconds, count in zip(_WINDOWS, most.values(), strict=True))
    return Verdict(
        f"requests{f' of {of}' if of else ''} are within the budget in every window",
        not examples,
        f"{len(requests):,} requests at {rate}/s, the most {found};"
        f" {crowded} windows above {1 + _LATE:.0%}, {len(examples)} of them not because the machine was busy",
        {**most, "requests": len(requests), "rate": rate, "crowded": crowded, "wrong": len(examples)},
        examples[:_EXAMPLES],
    )


def check_refusals(requests: Sequence[Request], mishaps: Sequence[Mishap], probes: Probes) -> Verdict:
    """A worker that is killed or stopped with the refusal in its hands tells nobody; that is not held against it."""
    refusals = [request for request in requests if request.fault == "429"]
    examples: list[str] = []
    unheard, longest = 0, 0.0
    for refusal in refusals:
        over = refusal.answered_at + _RETRY_AFTER
        # The answer is late, and so is the last request of who has not heard.
        heard = refusal.answered_at + _HEARD + 2 * probes.slowest(refusal.monotonic, over)
        longest = max(longest, heard - refusal.answered_at)
        early = [request.monotonic for request in requests if heard < request.monotonic < over]
        if early and any(each.began <= heard and each.ended >= refusal.monotonic for each in mishaps):
            unheard += 1
        elif early:
            after = ", ".join(f"{time - refusal.answered_at:.3f}" for time in early[:_EXAMPLES])
            examples.append(f"refused with request {refusal.number}; {len(early)} more came after {after} s")
    return Verdict(
        "nobody asks before Retry-After is over",
        not examples,
        f"{len(refusals)} refusals with it, {len(examples)} not heeded, {unheard} lost with their worker;"
        f" up to {longest:.2f} s for what was under way",
        {"refusals": len(refusals), "not_heeded": len(examples), "unheard": unheard},
        examples[:_EXAMPLES],
    )


def _windows(times: Sequence[float], seconds: float) -> Iterator[tuple[float, int]]:
    """Of this length, each ending with a request: when it began, and how many came in it."""
    first = 0
    for at, time in enumerate(times):
        while time - times[first] >= seconds:
            first += 1
        yield times[first], at - first + 1
