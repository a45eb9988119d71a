"""The outcome of a commit, and a pass as stores keep it."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from waypost.importing.pages import Committed
from waypost.importing.passes import ENDING, Pass
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.job import Lease

_passes = msgspec.json.Decoder(Pass)


class Outcome(NamedTuple):
    """`counted` is what goes to the job's counters; `state` is how far the pass is."""

    counted: Counter[str]
    state: Pass
    refused: TerminalError | None = None

    @property
    def is_over(self) -> bool:
        return self.state.phase == "over"

    @property
    def has_more(self) -> bool:
        return self.state.phase not in {"reading", "over"}

    def cursor(self, following: str | None) -> str | None:
        """Where the shard goes on: after the page, with its end, or, if that was refused, from the beginning."""
        if self.refused:
            return None
        return ENDING if self.has_more else following

    def committed(self, *, ended: bool) -> Committed:
        return Committed(
            self.counted,
            ended=ended,
            more=self.has_more,
            refused=self.refused,
            unsure=self.state.unsure if self.counted["unsure"] else None,
        )


def concluded(counted: Counter[str], state: Pass, refused: TerminalError | None) -> Outcome:
    if refused:
        return Outcome(counted, state.begun_again(), refused)
    if state.phase == "over" and state.covered and state.unsure:
        counted["unsure"] = 1
    return Outcome(counted, state)


def encode_pass(state: Pass) -> str:
    return msgspec.json.encode(state).decode()


def marks_of(found: str) -> Sequence[str]:
    """Returns the names of all marks that a pass has left."""
    return _passes.decode(found).uncleared


def decode_pass(found: str | None, lease: Lease) -> Pass:
    """Returns the pass that a lease goes on with; at the shard's beginning, that is a new one."""
    state = _passes.decode(found) if found else Pass()
    if lease.cursor is None:
        return state.begun_again()
    if found is None and lease.cursor == ENDING:
        return Pass(phase="forgetting", covered=True, unsure="what was seen of the shard is no longer known")
    return state
