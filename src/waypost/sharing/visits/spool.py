"""The spool: visits on local disk, one write each, so that a killed process loses none it has answered.

Each process appends to a segment of its own and holds a lock on it. A segment that nobody locks was left by a process
that died, and whoever finds it ships it.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from waypost.kernel.ids import new_id
from waypost.sharing.visits.visit import Visit
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import VISITS_LOST, VISITS_SPOOLED

log = get_logger("visits")

_SUFFIX = ".visits"
_visit = msgspec.json.Decoder(Visit)


class Batch(msgspec.Struct, frozen=True):
    visits: list[Visit]
    size: int


class Segment:
    """One file of visits, a JSON object a line, locked for as long as it is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self._shipped = 0

    @classmethod
    def create(cls, folder: Path) -> "Segment":
        # Locked under a name that nobody adopts, then given its real one: at no moment does it look abandoned.
        hidden = folder / f".{new_id()}"
        descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        path = hidden.with_name(hidden.name[1:] + _SUFFIX)
        hidden.rename(path)
        return cls(path, descriptor)

    @classmethod
    def adopt(cls, path: Path) -> "Segment | None":
        """The segment of a process that died, or None while somebody holds it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if os.fstat(descriptor).st_nlink == 0:  # shipped and removed by somebody else while we opened it
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    def append(self, line: bytes) -> None:
        written = os.write(self._descriptor, line)
        if written < len(line):
            # Half a line would swallow the next one.
            os.ftruncate(self._descriptor, self.size)
            raise OSError(errno.ENOSPC, "the disk took only part of a visit")
        self.size += written

    def next_batch(self, most_bytes: int) -> Batch | None:
        """Whole lines that were not shipped yet. What is no whole line was never answered for."""
        data = os.pread(self._descriptor, most_bytes, self._shipped)
        while b"\n" not in data and len(data) == most_bytes:
            # Only damage makes a line that long; what follows it must not wait for ever.
            most_bytes *= 2
            data = os.pread(self._descriptor, most_bytes, self._shipped)
        lines = data[: data.rfind(b"\n") + 1]
        if not lines:
            return None
        return Batch([visit for line in lines.splitlines() if (visit := self._decode(line))], len(lines))

    def mark_shipped(self, batch: Batch) -> None:
        self._shipped += batch.size

    def _decode(self, line: bytes) -> Visit | None:
        try:
            return _visit.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            VISITS_LOST.inc()
            log.error("a line of the spool is damaged", segment=self._path.name, message=str(error))  # noqa: TRY400 - what the line was is enough
            return None

    @property
    def backlog(self) -> int:
        return self.size - self._shipped

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def leave(self) -> None:
        """Close without removing: another process will adopt it."""
        os.close(self._descriptor)


class Spool:
    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._most_bytes = most_bytes
        self.own = Segment.create(folder)

    def append(self, visit: Visit) -> bool:
        """Write a visit down before it is answered; false when it could not be, and the loss was counted."""
        try:
            self._append(msgspec.json.encode(visit) + b"\n")
        except OSError as error:
            VISITS_LOST.inc()
            log.error("a visit is lost", link=visit.link_id, message=str(error))  # noqa: TRY400 - the reason says it all
            return False
        VISITS_SPOOLED.inc()
        return True

    def _append(self, line: bytes) -> None:
        if self.own.backlog + len(line) > self._most_bytes:
            raise OSError(errno.EDQUOT, "the spool is full")
        self.own.append(line)

    def renew(self) -> None:
        """Start a new segment once the old one is shipped, so that files do not grow for ever."""
        done, self.own = self.own, Segment.create(self._folder)
        done.remove()

    def abandoned(self) -> Iterator[Segment]:
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            with suppress(FileNotFoundError):
                if segment := Segment.adopt(path):
                    yield segment
