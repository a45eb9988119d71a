"""The spool: visits on local disk, one write each, so that a killed process loses none it has answered.

Each process appends to a segment of its own and holds a lock on it. A segment without a lock was left by a process that
died, and the first process that finds it ships it.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from waypost.kernel.clock import monotonic
from waypost.kernel.errors import TerminalError, TransientError
from waypost.kernel.ids import new_id
from waypost.sharing.visits.batches import BadLine, Batch, read_batch, too_long
from waypost.sharing.visits.set_aside import KEPT_BYTES, SetAsideFile, SetAsideLine
from waypost.sharing.visits.visit import Visit
from waypost.telemetry.logs import get_logger
from waypost.telemetry.metrics import VISITS_LOST, VISITS_SET_ASIDE, VISITS_SPOOLED

log = get_logger("visits")

_SUFFIX = ".visits"
# A full spool refuses thousands of visits a second; one line in the log is enough.
_COMPLAIN_SECONDS = 10.0


class SpoolNotWritable(TerminalError):
    """The folder that visits are written to refuses new files."""


class Segment:
    """One file of visits, a JSON object a line, locked for as long as it is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self.shipped = 0
        self._set_aside = SetAsideFile(path)
        self._has_complained = False

    @classmethod
    def create(cls, folder: Path, *, synced: bool = False) -> "Segment":
        """`synced` makes each write wait for the disk."""
        # Locked under a name that no process adopts, then given its real one: it never looks abandoned.
        hidden = folder / f".{new_id()}"
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | (os.O_DSYNC if synced else 0)
        descriptor = os.open(hidden, flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        path = hidden.with_name(hidden.name[1:] + _SUFFIX)
        hidden.rename(path)
        if synced:
            _sync_folder(folder)
        return cls(path, descriptor)

    @classmethod
    def adopt(cls, path: Path) -> "Segment | None":
        """The segment of a process that died, or None while another process holds it."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if os.fstat(descriptor).st_nlink == 0:  # shipped and removed by another process while we opened it
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
        """Returns whole lines that were not shipped yet. The visit of an incomplete line was never answered."""
        data = os.pread(self._descriptor, most_bytes, self.shipped)
        if lines := data[: data.rfind(b"\n") + 1]:
            return read_batch(lines, self.shipped, self._is_set_aside)
        size = len(data)
        while data := os.pread(self._descriptor, most_bytes, self.shipped + size):
            if b"\n" in data:
                return too_long(self.shipped, size + data.index(b"\n") + 1, self._is_set_aside)
            size += len(data)
        return None

    def mark_shipped(self, batch: Batch) -> None:
        self.shipped += batch.size

    def set_aside(self, lines: Sequence[BadLine]) -> None:
        """Keep lines that cannot be counted in a file of their own, before `mark_shipped`. Done again, it adds none."""
        if not lines:
            return
        try:
            kept = self._set_aside.add(SetAsideLine(bad.start, bad.reason, self._text(bad.start)) for bad in lines)
        except OSError as error:
            raise TransientError(f"lines of the spool cannot be set aside: {error.strerror}") from error
        VISITS_SET_ASIDE.inc(kept)
        VISITS_LOST.inc(len(lines) - kept)
        if not self._has_complained:
            self._has_complained = True
            # Not why, nor what they are: there may be something about a visitor in it.
            log.error("lines of the spool cannot be counted and are set aside", file=str(self._set_aside.path))

    def _is_set_aside(self, start: int) -> bool:
        # A person may put a mended segment back under the same name.
        return start in self._set_aside.known and self._set_aside.known[start] == self._text(start)

    def _text(self, start: int) -> str:
        line, _, _ = os.pread(self._descriptor, KEPT_BYTES, start).partition(b"\n")
        return line.decode(errors="backslashreplace")

    @property
    def backlog(self) -> int:
        return self.size - self.shipped

    def remove(self) -> None:
        """Once it is shipped. In a folder that lets nothing go it stays, empty."""
        try:
            self.path.unlink(missing_ok=True)
        except PermissionError:
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def leave(self) -> None:
        """Close without removing: another process will adopt it."""
        os.close(self._descriptor)


class Spool:
    """`most_bytes` bounds what waits in this process's segment and in those that dead processes left, together."""

    def __init__(self, folder: Path, *, most_bytes: int, synced: bool = False) -> None:
        self._folder = folder
        self._synced = synced
        self._most_bytes = most_bytes
        self._encode = msgspec.json.Encoder().encode
        self._spooled = 0
        self._complain_at = 0.0
        self.own = self._first_segment()
        self._room = 0
        self.measure()

    def _first_segment(self) -> Segment:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            return Segment.create(self._folder, synced=self._synced)
        except OSError as error:
            raise SpoolNotWritable(
                f"the spool {self._folder} cannot be written: {error.strerror}",
                next_step="make the folder writable for this user, or choose another one with --data",
            ) from error

    def append(self, visit: Visit) -> bool:
        """Write a visit down before it is answered; returns false when that failed, and the loss was counted."""
        return self.append_line(self._encode(visit) + b"\n")

    def append_line(self, line: bytes) -> bool:
        """Write down a visit that is already a line, as `append` does."""
        own = self.own
        try:
            if own.size + len(line) > own.shipped + self._room:
                raise OSError(errno.EDQUOT, "the spool is full")  # noqa: TRY301 - a full disk is told in the same way
            own.append(line)
        except OSError as error:
            self._lose(error)
            return False
        self._spooled += 1
        return True

    @property
    def is_roomy(self) -> bool:
        """Whether less than half of its room is taken."""
        return self.own.backlog < self._room / 2

    def count(self) -> None:
        """Add to the metric, many visits at once: on the redirect path it would cost a third of the write."""
        spooled, self._spooled = self._spooled, 0
        VISITS_SPOOLED.inc(spooled)

    def measure(self) -> None:
        """Measure how much dead processes have left that no process ships yet."""
        left = sum(segment.size for segment in self._let_go())
        self._room = max(0, self._most_bytes - left)

    def renew(self) -> None:
        """Start a new segment once the old one is shipped, so that files do not grow for ever."""
        try:
            fresh = Segment.create(self._folder, synced=self._synced)
        except OSError as error:
            # The old one will do; it takes room on the disk, and none of the spool's.
            self._complain("the spool cannot begin a new file", error)
            return
        done, self.own = self.own, fresh
        done.remove()

    def abandoned(self) -> Iterator[Segment]:
        for path in segments_in(self._folder):
            try:
                segment = None if path == self.own.path else Segment.adopt(path)
            except PermissionError as error:
                # One that was left by another user must not keep the others from being shipped.
                self._complain("visits in a file of the spool are not counted, for it cannot be opened", error)
                continue
            if segment:
                yield segment

    def _let_go(self) -> Iterator[Segment]:
        for segment in self.abandoned():
            segment.leave()
            yield segment

    def _lose(self, error: OSError) -> None:
        VISITS_LOST.inc()
        self._complain("a visit is lost, and maybe more", error)

    def _complain(self, what: str, error: OSError) -> None:
        if monotonic() >= self._complain_at:
            self._complain_at = monotonic() + _COMPLAIN_SECONDS
            log.error(what, message=str(error))


def segments_in(folder: Path) -> list[Path]:
    """The files of all segments, oldest first."""
    return sorted(folder.glob(f"*{_SUFFIX}"))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
