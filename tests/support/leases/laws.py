"""What an operation may do to a job, and which law is broken when it did something else. Pure: no store, no clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Literal

from support.leases.history import NEVER, Operation, Seen

Law = Literal[
    "fences grow",
    "a fence is given once",
    "one holder at a time",
    "only the newest fence writes",
    "each page once",
    "nothing acknowledged is lost",
    "done is final",
    "dead is final",
    "cancelled is final",
    "nothing is claimed before it is due",
    "whoever holds the lease is heard",
    "nothing stays behind",
]

# Times are far from one another, so that how long a run takes does not matter.
LEASE = 1000.0
PRUNE_AFTER = 700.0
MAX_ATTEMPTS = 3
GROUPS = ("one", "two")


@dataclass(frozen=True)
class State:
    """What is true of a shard's job. Times are in seconds from now."""

    status: str = "absent"
    fence: int = 0
    # The highest that the shard ever had: a job that was pruned and enqueued anew begins at 0, its fences do not.
    given: int = 0
    # A claim whose reply was lost has given a larger fence, which nobody knows.
    is_hidden: bool = False
    # When that claim returned, if it did, without a word about this job: by then somebody else had taken it away.
    unsaid: int = NEVER
    floor: int = 0
    owner: str = ""
    attempts: int = 0
    cursor: int = 0
    pages: int = 0
    until: float = 0.0
    due: float = 0.0
    ended: float = 0.0
    wanted_by: frozenset[str] = frozenset()

    @property
    def is_unfinished(self) -> bool:
        return self.status in {"pending", "leased"}

    @property
    def is_claimable(self) -> bool:
        return (self.status == "pending" and self.due <= 0) or (self.status == "leased" and self.until < 0)


Outcome = list[State] | Law


def outcomes(state: State, operation: Operation) -> Outcome:
    """What may be true afterwards; or the law that the answer breaks, were it given now."""
    if state.status == "leased" and state.is_hidden and operation.begin > state.unsaid:
        return "nothing stays behind"
    found = _step(state, operation)
    if not _may_be_buried(state):
        return found
    # A claim by anybody may have buried it before, and nobody was told.
    buried = _step(_ended(state, "dead"), operation)
    if isinstance(found, str) or isinstance(buried, str):
        return found if isinstance(buried, str) else buried
    return [*found, *buried]


def _may_be_buried(state: State) -> bool:
    return state.attempts >= MAX_ATTEMPTS and state.is_claimable


def _step(state: State, operation: Operation) -> Outcome:
    if operation.asked in _FENCED:
        return _fenced(state, operation)
    return _OTHERS[operation.asked](state, operation)


def _fenced(state: State, operation: Operation) -> Outcome:
    is_current = state.status == "leased" and state.fence == operation.fence and not state.is_hidden
    match operation.answer:
        case "lost":
            return "whoever holds the lease is heard" if is_current else [state]
        case "unknown":
            return _FENCED[operation.asked](state, operation) if is_current else [state]
    if is_current:
        return _FENCED[operation.asked](state, operation)
    return _broken_finality(state, operation) or "only the newest fence writes"


def _broken_finality(state: State, operation: Operation) -> Law | None:
    if operation.asked == "renew" or (operation.asked != "claim" and operation.fence < state.fence):
        return None
    finals: dict[str, Law] = {"done": "done is final", "dead": "dead is final", "cancelled": "cancelled is final"}
    return finals.get(state.status)


def _renew(state: State, _operation: Operation) -> Outcome:
    return [replace(state, until=LEASE)]


def _checkpoint(state: State, operation: Operation) -> Outcome:
    if operation.cursor != state.cursor + 1:
        return "each page once"
    return [replace(state, cursor=operation.cursor, pages=state.pages + 1, attempts=0)]


def _complete(state: State, _operation: Operation) -> Outcome:
    return [_ended(state, "done")]


def _fail(state: State, operation: Operation) -> Outcome:
    return [_ended(state, "dead") if operation.seconds is None else _given_back(state, operation.seconds)]


def _release(state: State, operation: Operation) -> Outcome:
    return [replace(_given_back(state, operation.seconds or 0.0), attempts=0)]


def _enqueue(state: State, operation: Operation) -> Outcome:
    is_new = state.status in {"absent", "cancelled"}
    if operation.answer == "yes" and operation.added is not None and operation.added != is_new:
        return "nothing acknowledged is lost"
    groups = {operation.group} if operation.group else set()
    return [_joined(state, frozenset(groups))]


def _add_part(state: State, _operation: Operation) -> Outcome:
    """Wanted by whoever wants the whole, which the history of the part does not tell."""
    every = chain.from_iterable(combinations(GROUPS, count) for count in range(len(GROUPS) + 1))
    return list(dict.fromkeys(_joined(state, frozenset(groups)) for groups in every))


def _claim(state: State, operation: Operation) -> Outcome:
    if operation.answer == "unknown":
        claimed = replace(_leased(state, operation.owner), is_hidden=True, unsaid=operation.end)
        return [claimed if state.is_claimable else state]
    if law := _broken_finality(state, operation) or _broken_claim(state, operation):
        return law
    return [_fenced_by(_leased(state, operation.owner), operation.fence)]


def _broken_claim(state: State, operation: Operation) -> Law | None:
    if state.status == "leased" and not state.is_claimable:
        return "one holder at a time"
    if state.status == "pending" and not state.is_claimable:
        return "nothing is claimed before it is due"
    if operation.fence <= max(state.given, state.floor):
        return "fences grow"
    is_as_it_was = (operation.cursor, operation.attempts) == (state.cursor, state.attempts + 1)
    return None if is_as_it_was and state.status != "absent" else "nothing acknowledged is lost"


def _claim_all(state: State, _operation: Operation) -> Outcome:
    """A claim of as many as there are, with nobody else about, that did not return this one."""
    return "nothing stays behind" if state.is_claimable and not _may_be_buried(state) else [state]


def _cancel(state: State, operation: Operation) -> Outcome:
    if not state.is_unfinished or operation.group not in state.wanted_by:
        return [state]
    left = replace(state, wanted_by=state.wanted_by - {operation.group})
    return [left if left.wanted_by else _ended(left, "cancelled")]


def _revive(state: State, _operation: Operation) -> Outcome:
    if state.status != "dead":
        return [state]
    return [replace(state, status="pending", attempts=0, due=0.0)]


def _prune(state: State, _operation: Operation) -> Outcome:
    """It takes what is old, in its own time."""
    if state.status not in {"done", "cancelled"} or state.ended >= -PRUNE_AFTER:
        return [state]
    return [state, State(given=state.given, floor=state.floor)]


def _release_owner(state: State, operation: Operation) -> Outcome:
    if state.status != "leased" or state.owner != operation.owner:
        return [state]
    # What was begun too often in a row kills whoever begins it.
    return [_ended(state, "dead") if state.attempts >= MAX_ATTEMPTS else replace(state, status="pending", owner="")]


def _raise_fences(state: State, operation: Operation) -> Outcome:
    return [replace(state, floor=max(state.floor, operation.fence))]


def _age(state: State, operation: Operation) -> Outcome:
    if state.status == "absent":
        return [state]
    back = operation.seconds or 0.0
    return [replace(state, until=state.until - back, due=state.due - back, ended=state.ended - back)]


def _look(state: State, operation: Operation) -> Outcome:
    seen = operation.seen
    if seen is None or state.status == "absent":
        return [state] if (seen is None) == (state.status == "absent") else "nothing acknowledged is lost"
    if seen.pages != seen.cursor:
        return "each page once"
    if seen.fence < state.fence or (state.is_hidden and seen.fence == state.fence):
        return "fences grow"
    if not state.is_hidden and seen.fence > state.fence:
        # A fence that no claim gave and none can have given in silence.
        return "only the newest fence writes"
    if (seen.status, seen.attempts, seen.cursor) != (state.status, state.attempts, state.cursor):
        return _changed(state, seen)
    return [_fenced_by(state, seen.fence)]


def _changed(state: State, seen: Seen) -> Law:
    """It is not as it was left."""
    if seen.status == state.status:
        return "each page once" if seen.cursor > state.cursor else "nothing acknowledged is lost"
    finals: dict[str, Law] = {"done": "done is final", "dead": "dead is final", "cancelled": "cancelled is final"}
    return finals.get(state.status, "nothing acknowledged is lost")


def _leased(state: State, owner: str) -> State:
    return replace(state, status="leased", owner=owner, attempts=state.attempts + 1, until=LEASE)


def _fenced_by(state: State, fence: int) -> State:
    return replace(state, fence=fence, given=max(state.given, fence), is_hidden=False, unsaid=NEVER)


def _given_back(state: State, due: float) -> State:
    return replace(state, status="pending", owner="", due=due)


def _ended(state: State, status: str) -> State:
    return replace(state, status=status, owner="", ended=0.0)


def _joined(state: State, groups: frozenset[str]) -> State:
    if state.status == "absent":
        return replace(state, status="pending", wanted_by=groups)
    joined = replace(state, wanted_by=state.wanted_by | groups)
    return replace(joined, status="pending", attempts=0) if state.status == "cancelled" else joined


_Step = Callable[[State, Operation], Outcome]
_FENCED: dict[str, _Step] = {
    "renew": _renew,
    "checkpoint": _checkpoint,
    "complete": _complete,
    "split": _complete,
    "fail": _fail,
    "release": _release,
}
_OTHERS: dict[str, _Step] = {
    "enqueue": _enqueue,
    "add part": _add_part,
    "claim": _claim,
    "claim all": _claim_all,
    "cancel": _cancel,
    "revive": _revive,
    "prune": _prune,
    "release owner": _release_owner,
    "raise fences": _raise_fences,
    "age": _age,
    "look": _look,
}
