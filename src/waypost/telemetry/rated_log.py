"""Lines that somebody outside can provoke: of each kind one a minute is logged, so that nobody can fill the log."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from waypost.kernel.clock import monotonic

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_SECONDS_BETWEEN_LINES = 60.0
# Libraries may write a number or an address into what they say, and each would be a kind of its own.
_MOST_KINDS = 1000

Kind = tuple[object, ...]


class LineRate:
    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        # When a line of the kind was last written, and how many were held back since.
        self._kinds: dict[Kind, tuple[float, int]] = {}

    def take(self, kind: Kind) -> int | None:
        """How many lines of this kind were held back since the last one; None if this one is to be held back too."""
        now = self._clock()
        written, held_back = self._kinds.get(kind, (None, 0))
        if written is not None and now - written < _SECONDS_BETWEEN_LINES:
            self._kinds[kind] = written, held_back + 1
            return None
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
        self._kinds[kind] = now, 0
        return held_back


class RatedLog:
    """A logger of ours. Exceptions of one kind come from the same line of code."""

    def __init__(self, log: "FilteringBoundLogger", rate: LineRate | None = None) -> None:
        self._log, self._rate = log, rate or LineRate()

    def warning(self, event: str, **fields: str) -> None:
        """With fields of which there are few, since lines with other fields are of another kind."""
        if (held_back := self._rate.take((event, *fields.values()))) is not None:
            self._log.warning(event, held_back=held_back, **fields)

    def error(self, event: str, error: BaseException, **fields: object) -> None:
        if (held_back := self._rate.take((event, *_origin(error)))) is not None:
            self._log.error(event, held_back=held_back, exc_info=error, **fields)


class LibraryLineRate(logging.Filter):
    """For the lines of libraries, which say what clients made them say."""

    def __init__(self, rate: LineRate | None = None) -> None:
        super().__init__()
        self._rate = rate or LineRate()

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        held_back = self._rate.take((record.name, record.msg, *_origin(error)))
        if held_back:
            record.msg = f"{record.msg} ({held_back} such lines were held back)"
        return held_back is not None


def _origin(error: BaseException | None) -> Kind:
    """What was raised, and where."""
    trace = error.__traceback__ if error else None
    while trace and trace.tb_next:
        trace = trace.tb_next
    return (type(error), trace.tb_frame.f_code, trace.tb_lineno) if trace else (type(error),)
