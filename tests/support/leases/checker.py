"""Looks for an order of what happened that explains every answer; where there is none, a law was broken."""

from collections import Counter
from dataclasses import dataclass, field

from support.leases.history import NEVER, History, Operation
from support.leases.laws import Law, State, outcomes

# Far more than a run of some seconds needs; a search that goes on beyond is a defect of the search.
_MOST_STEPS = 2_000_000


class Broken(AssertionError):
    """No order of the operations explains what the clients heard."""

    def __init__(self, shard: str, laws: set[Law], told: str) -> None:
        super().__init__(f"{shard}: {', '.join(sorted(laws))}\n{told}")
        self.laws = laws


def check(history: History) -> None:
    """Raises Broken, with the laws that the first inexplicable answers break."""
    _check_that_fences_differ(history)
    for shard in history.shards():
        _Search(shard, history.of(shard)).run()


def _check_that_fences_differ(history: History) -> None:
    given = Counter(each.fence for each in history.operations if each.asked == "claim" and each.answer == "yes")
    if twice := sorted(fence for fence, count in given.items() if count > 1):
        claims = [str(each) for each in history.operations if each.asked == "claim" and each.fence in twice]
        raise Broken("all shards", {"a fence is given once"}, "\n".join(claims))


@dataclass
class _Point:
    """How far the search has come: a bit for each operation that has had its turn, and what is true then."""

    done: int
    state: State
    turns: "_Turns | None" = None


@dataclass
class _Turns:
    """Which operation had its turn, after which others."""

    operation: Operation
    before: "_Turns | None"


@dataclass
class _Search:
    shard: str
    operations: list[Operation]
    # The furthest that any order came, and the laws that stopped it there.
    _furthest: int = -1
    _laws: set[Law] = field(default_factory=set)
    _story: str = ""

    def run(self) -> None:
        self.operations.sort(key=lambda each: each.begin)
        required = sum(1 << number for number, each in enumerate(self.operations) if each.answer != "unknown")
        met: set[tuple[int, State]] = set()
        points = [_Point(0, State())]
        while points:
            point = points.pop()
            if point.done & required == required:
                return
            if (point.done, point.state) in met:
                continue
            met.add((point.done, point.state))
            assert len(met) < _MOST_STEPS, f"{self.shard}: the search does not end"
            points += self._next(point)
        raise Broken(self.shard, self._laws, self._story)

    def _next(self, point: _Point) -> list[_Point]:
        found: list[_Point] = []
        laws: set[Law] = set()
        ready = self._ready(point.done)
        for number in ready:
            operation = self.operations[number]
            after = outcomes(point.state, operation)
            if isinstance(after, str):
                laws.add(after)
                continue
            done, turns = point.done | 1 << number, _Turns(operation, point.turns)
            if after == [point.state] and operation.changes_nothing:
                # Nothing is gained by letting it wait.
                return [_Point(done, point.state, turns)]
            if after == [point.state] and operation.answer == "unknown":
                # Without effect now; it may yet have its turn later.
                continue
            found += [_Point(done, state, turns) for state in after]
        self._note(point, laws, ready)
        # The last is tried first: the one that began first.
        return found[::-1]

    def _ready(self, done: int) -> list[int]:
        """Those that no other operation, which has not had its turn, ended before."""
        ready: list[int] = []
        first_end = NEVER
        latest = max((each.begin for number, each in enumerate(self.operations) if done >> number & 1), default=0)
        for number, operation in enumerate(self.operations):
            if operation.begin > first_end:
                break
            # An outcome that nobody heard need not have happened; but it did not come after it was over.
            if done >> number & 1 or operation.end < latest:
                continue
            ready.append(number)
            if operation.answer != "unknown":
                first_end = min(first_end, operation.end)
        return ready

    def _note(self, point: _Point, laws: set[Law], ready: list[int]) -> None:
        depth = point.done.bit_count()
        if not laws or depth < self._furthest:
            return
        if depth > self._furthest:
            self._furthest, self._laws = depth, set()
            self._story = self._tell(point, ready)
        self._laws |= laws

    def _tell(self, point: _Point, ready: list[int]) -> str:
        lines: list[str] = []
        turns = point.turns
        while turns and len(lines) < 15:
            lines.append(f"  {turns.operation}")
            turns = turns.before
        waiting = [f"  {self.operations[number]}" for number in ready]
        return "\n".join(["after", *reversed(lines), f"it is {point.state}, which none of these explains:", *waiting])
