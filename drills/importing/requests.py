"""What the provider noted about the requests that it had."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from urllib.parse import parse_qs

import msgspec

from drills.importing.provider import Absence
from drills.importing.view import Question

_OK = 200
# An answer that took its time is an answer.
_WHOLE = (None, "slow")


class Request(msgspec.Struct, frozen=True):
    """A line of its log. `monotonic` is when it came, in seconds of a clock that all processes share."""

    number: int
    monotonic: float
    path: str
    query: str
    status: int | None
    fault: str | None
    seconds: float

    @property
    def answered_at(self) -> float:
        return self.monotonic + self.seconds

    @property
    def is_answered(self) -> bool:
        """In full, with what was asked for."""
        return self.status == _OK and self.fault in _WHOLE

    @property
    def question(self) -> Question | None:
        """None for what does not ask for a page."""
        asked = parse_qs(self.query)
        if "greaterthanid" not in asked:
            return None
        return Question(asked["countrycode"][0], int(asked["greaterthanid"][0]))


def read_requests(log: Path) -> Sequence[Request]:
    """In the order in which they came; the log has them in the order in which they were answered."""
    decoder = msgspec.json.Decoder(Request)
    with log.open("rb") as lines:
        return sorted((decoder.decode(line) for line in lines), key=lambda request: request.monotonic)


def asked_again(absence: Absence, requests: Sequence[Request]) -> float:
    """When it had its first request for a page after it was away; infinity if never."""
    return min((each.monotonic for each in requests if each.monotonic >= absence.ended and each.question), default=inf)
