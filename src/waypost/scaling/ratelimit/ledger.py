"""How a budget changes: pure arithmetic on microseconds of the store's clock.

Each limit has an arrival time: when the next request would come if all came evenly. Granting a turn moves it forward
and says when to go, so that callers are served in order and nobody polls. A turn is granted 0.4 s ahead at most; those
who would come later stand in a line, and ask again when their turn is near. A place in the line keeps a turn free only
until the last call for it: then a caller who is there takes it. So a caller that disappears costs the others no more
than the turns it was granted, and a clock that steps back cannot stop everybody for long.

The same arithmetic is in adapters/redis/lua/budget and lua/turn; a test compares them step by step.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from waypost.scaling.ratelimit.budget_records import Account, Answered, Asked, Known, Rules, Waiting
from waypost.scaling.ratelimit.limits import Spacing

_SECOND = 1_000_000
# How far ahead turns are granted: turns that a killed process holds are lost.
HORIZON = _SECOND * 2 // 5
# A caller in the line asks again after a third of its wait, but not before this, and when its turn is near.
HEARTBEAT = _SECOND // 2
# A caller that is late by more than this is no longer waited for. When it comes, it is served by its number.
GRACE = _SECOND // 4
# This shortly before a turn, it goes to a caller who is there, even if one ahead in the line may still come.
LAST_CALL = _SECOND // 10
# The longest time between two successes for which the pace rises.
STEADY = 3 * _SECOND
# A process that has not asked for this long no longer counts among those that share the budget.
MEMBER_SECONDS = 60
# The pause after a refusal without advice doubles from the first to the longest.
FIRST_PAUSE = 5 * _SECOND
LONGEST_PAUSE = 600 * _SECOND
# A rate is lowered on advice only if it makes a difference, because that sends all callers back to ask again.
NOTEWORTHY = 0.9
# How far the count of changes jumps after a loss, so that what any process knows is older than the mended state.
LEAP = 1 << 20


@dataclass
class _Walk:
    """Arrival times on the way along the line: `free` are those now, `rest` those once the callers who are here have
    had their turns, and `arrivals` those once all have who stand ahead.
    """

    free: list[int]
    rest: list[int]
    arrivals: list[int]
    ahead: list[Waiting] = field(default_factory=list)


class Ledger:
    """One budget, opened at a moment of the store's clock. `common` keeps the limits that all keys share."""

    def __init__(self, account: Account, common: Account, rules: Rules, known: Known, now: int) -> None:
        self.account = account
        self.common = common
        self._rules = rules
        self._now = now
        for each in (account, common):
            _follow_clock(each, now)
        self._mend(known)
        account.pace = min(max(account.pace, rules.floor), rules.ceiling)
        account.seq += 1

    def known(self) -> Known:
        account = self.account
        return Known(
            self._now,
            account.born,
            account.seq,
            account.epoch,
            account.pace,
            account.penalty,
            max(1, len(account.members)),
            tuple(self._arrivals()),
        )

    def ask(self, process: str, asked: Sequence[Asked], *, succeeded: bool = False) -> list[Answered]:
        """Gives turns to requests of one process, after those who came earlier. Answers are in the line's order."""
        if succeeded:
            self._restore()
        self._note_member(process)
        wanted = {self._number(each): each for each in asked}
        arrivals = self._arrivals()
        walk = _Walk(arrivals, arrivals, arrivals)
        line = self._line(wanted)
        # Nothing changes for callers behind the last one that asks now.
        end = bisect_right(line, max(wanted, default=0), key=lambda each: each.turn)
        served = [self._serve(waiting, wanted.get(waiting.turn), walk) for waiting in line[:end]]
        self.account.line = walk.ahead + line[end:]
        return [answered for answered in served if answered]

    def penalise(self, pause: int | None) -> Known:
        """The provider refused: nobody asks for this long. A refusal during a penalty belongs to the same one."""
        account = self.account
        if self._now >= account.penalty:
            account.pace = max(self._rules.floor, account.pace / 2)
            account.refusals += 1
            account.epoch += 1
            account.paced_at = self._now
            if pause is None:
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(account.refusals - 1, 20))
        self._stop_until(self._now + (pause or 0))
        return self.known()

    def advise(self, remaining: int, reset: int) -> Known:
        """The provider says how many requests are left until its count starts again, in `reset` microseconds."""
        account = self.account
        if remaining <= 0:
            self._stop_until(self._now + reset)
            return self.known()
        slowest = max(spacing.interval for spacing in self._rules.spacings)
        left = max(self._rules.floor, slowest * remaining / max(1, reset))
        if left < account.pace * NOTEWORTHY:
            account.pace = left
            account.paced_at = self._now
            account.epoch += 1
        return self.known()

    def leave(self, turn: int) -> Known:
        """A caller no longer wants its turn. The turn granted last is given back; any other passes unused."""
        account = self.account
        account.line = [waiting for waiting in account.line if waiting.turn != turn]
        if turn == account.last_turn:
            self._set_arrivals(account.before_last)
            account.last_turn, account.before_last = 0, []
        return self.known()

    def _mend(self, known: Known) -> None:
        """Mends a store that was flushed or went back in time: a process then knows more than it does."""
        account, now = self.account, self._now
        is_behind = (known.born, -known.seq) < (account.born, -account.seq)
        if known.born and (not account.born or is_behind):
            arrivals = zip(self._arrivals(), known.arrivals, strict=False)
            self._set_arrivals([max(ours, self._recall(theirs, known)) for ours, theirs in arrivals])
            # Other processes may hold turns that are not known here, but none later than the horizon.
            evenly = (each.interval for each in self._rules.spacings if each.burst == 1)
            account.quiet = now + HORIZON + max(evenly, default=0)
            account.epoch = max(account.epoch, known.epoch)
            account.pace = min(account.pace, known.pace)
            account.paced_at = now
            account.born, account.seq = known.born, max(account.seq, known.seq) + LEAP
            account.last_turn, account.before_last = 0, []
        if not account.born:
            account.born, account.pace = now, self._rules.ceiling
        self._stop_until(self._recall(known.penalty, known))

    def _recall(self, time: int, known: Known) -> int:
        """Returns a time that a process knows, no further ahead than it was then, whatever the clock did."""
        return min(time, self._now + time - known.now)

    def _restore(self) -> None:
        """Requests succeed: raises the pace by a small step. A request that was sent before a refusal says nothing."""
        account, now = self.account, self._now
        if now >= account.penalty and (account.refusals or account.pace < self._rules.ceiling):
            account.refusals = 0
            step = min(max(0, now - account.paced_at), STEADY) / self._rules.recovery
            account.pace = min(self._rules.ceiling, account.pace + step)
            account.paced_at = now

    def _note_member(self, process: str) -> None:
        oldest = self._now - MEMBER_SECONDS * _SECOND
        members = {name: seen for name, seen in self.account.members.items() if seen >= oldest}
        members[process] = self._now
        self.account.members = members

    def _number(self, asked: Asked) -> int:
        self.account.turns = max(self.account.turns + (asked.turn == 0), asked.turn)
        return asked.turn or self.account.turns

    def _line(self, wanted: dict[int, Asked]) -> list[Waiting]:
        """All callers who wait, in order: those who ask now, and the others who are not overdue."""
        others = [each for each in self.account.line if each.until >= self._now and each.turn not in wanted]
        return sorted(
            [*others, *(Waiting(turn, asked.cost, 0) for turn, asked in wanted.items())], key=lambda each: each.turn
        )

    def _serve(self, waiting: Waiting, request: Asked | None, walk: "_Walk") -> Answered | None:
        """Serves the next caller in the line, which may have asked just now, or only stand there."""
        at, after = self._slot(walk.arrivals, waiting.cost)
        if request and at - self._now > request.max_wait:
            return Answered("refused", waiting.turn, at)
        walk.arrivals = after
        called, rest = self._slot(walk.rest, waiting.cost)
        call, is_near = called - LAST_CALL, at - self._now <= HORIZON
        if request and is_near and (not walk.ahead or call <= self._now):
            first, used = self._slot(walk.free, waiting.cost)
            self._grant(waiting.turn, walk.free, used)
            walk.free, walk.rest = used, rest
            return Answered("granted", waiting.turn, first)
        if request:
            again = min(call, walk.ahead[-1].until + 1) if is_near else self._come_back(at)
            waiting.until, waiting.here = again + GRACE, is_near
        if waiting.here:
            walk.rest = rest
        walk.ahead.append(waiting)
        return Answered("later", waiting.turn, waiting.until - GRACE) if request else None

    def _slot(self, arrivals: list[int], cost: int) -> tuple[int, list[int]]:
        """Returns the earliest moment that suits every limit, and their arrival times after it.

        A request that costs more than a burst goes when the whole burst is free, and those after it wait for the rest.
        """
        account = self.account
        at = max(self._now, account.penalty, account.quiet)
        spaced = list(zip(arrivals, self._rules.spacings, strict=True))
        for arrival, each in spaced:
            # Measured in time, a burst stays the same at any pace: slowing down must not let anybody through.
            at = max(at, arrival - (each.burst - min(cost, each.burst)) * each.interval)
        return at, [max(arrival, at) + cost * math.ceil(each.interval / account.pace) for arrival, each in spaced]

    def _grant(self, turn: int, before: list[int], after: list[int]) -> None:
        self.account.last_turn, self.account.before_last = turn, before
        self._set_arrivals(after)

    def _come_back(self, at: int) -> int:
        """Returns when to ask again: when the turn is near, or before, as the line ahead may become shorter."""
        return min(self._now + max(HEARTBEAT, (at - self._now) // 3), at - HORIZON)

    def _stop_until(self, time: int) -> None:
        account = self.account
        if time > max(account.penalty, self._now):
            account.penalty = time
            account.epoch += 1

    def _arrivals(self) -> list[int]:
        return [self._record(spacing).arrivals.get(spacing.name, 0) for spacing in self._rules.spacings]

    def _set_arrivals(self, arrivals: Sequence[int]) -> None:
        for spacing, arrival in zip(self._rules.spacings, arrivals, strict=False):
            self._record(spacing).arrivals[spacing.name] = arrival

    def _record(self, spacing: Spacing) -> Account:
        return self.common if spacing.shared else self.account


def _follow_clock(account: Account, now: int) -> None:
    """Moves all times back with a clock that stepped back: no time has passed, and none passes twice."""
    back = account.seen - now
    if back > 0:
        account.arrivals = {name: arrival - back for name, arrival in account.arrivals.items()}
        account.members = {name: seen - back for name, seen in account.members.items()}
        account.before_last = [arrival - back for arrival in account.before_last]
        account.penalty -= back
        account.quiet -= back
        account.paced_at -= back
        for waiting in account.line:
            waiting.until -= back
    account.seen = now
