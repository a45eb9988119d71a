"""What the provider saw: every request, counted and, if wanted, written down. A key is never kept, only its hash."""

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

import msgspec

from waypost.kernel.errors import AskedWrongly

_LAST = 20
_SECONDS = 60
_MOST_KEYS = 20


class LogUnusable(AskedWrongly):
    """The file for the log of requests cannot be written."""

    slug = "simulator-log-unusable"


class LoggedRequest(msgspec.Struct):
    """One request, as in a line of the log."""

    number: int
    # Seconds since 1970, and on a clock that never steps.
    time: float
    monotonic: float
    key: str | None
    method: str
    path: str
    query: str
    # How many were in flight when it came, itself included.
    in_flight: int
    status: int | None = None
    fault: str | None = None
    bytes: int = 0
    seconds: float = 0.0


class Seen(msgspec.Struct):
    requests: int
    in_flight: int
    by_status: dict[str, int]
    by_fault: dict[str, int]
    by_key: dict[str, int]
    # The oldest first, the current second last.
    per_second: list[int]
    last: list[LoggedRequest]


class Journal:
    def __init__(self, log: BinaryIO | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._requests = self._in_flight = 0
        self._by_status: Counter[str] = Counter()
        self._by_fault: Counter[str] = Counter()
        self._by_key: Counter[str] = Counter()
        self._per_second: Counter[int] = Counter()
        self._last: deque[LoggedRequest] = deque(maxlen=_LAST)

    def arrive(self, method: str, path: str, parameters: list[tuple[str, str]], key: str) -> LoggedRequest:
        now = self._clock()
        self._requests += 1
        self._in_flight += 1
        self._per_second[int(now)] += 1
        self._forget_before(int(now) - _SECONDS)
        query = urlencode([(name, value) for name, value in parameters if name.lower() != "key"])
        return LoggedRequest(
            self._requests, time.time(), now, hash_of(key) if key else None, method, path, query, self._in_flight
        )

    def leave(self, visit: LoggedRequest) -> None:
        self._in_flight -= 1
        visit.seconds = self._clock() - visit.monotonic
        self._by_status[str(visit.status) if visit.status else "no answer"] += 1
        self._by_key[visit.key or "no key"] += 1
        if visit.fault:
            self._by_fault[visit.fault] += 1
        self._last.appendleft(visit)
        if self._log:
            self._log.write(msgspec.json.encode(visit) + b"\n")

    def seen(self) -> Seen:
        second = int(self._clock())
        return Seen(
            self._requests,
            self._in_flight,
            dict(sorted(self._by_status.items())),
            dict(sorted(self._by_fault.items())),
            dict(self._by_key.most_common(_MOST_KEYS)),
            [self._per_second.get(second - ago, 0) for ago in reversed(range(_SECONDS))],
            list(self._last),
        )

    def _forget_before(self, second: int) -> None:
        while len(self._per_second) > _SECONDS and (oldest := min(self._per_second)) < second:
            del self._per_second[oldest]


def hash_of(key: str) -> str:
    """A short hash, enough to tell keys apart."""
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def open_log(path: Path) -> BinaryIO:
    """Opens a log to append to; unbuffered, so that a line is in the file when its request has ended."""
    try:
        return path.open("ab", buffering=0)
    except OSError as error:
        raise LogUnusable(f"{path}: it cannot be written: {error.strerror}", parameter="log") from error
