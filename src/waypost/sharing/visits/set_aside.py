"""Lines of the spool that cannot be counted, in a file beside their segment for a person to look at."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

SUFFIX = ".set-aside.ndjson"
# All such files of a spool together.
MOST_BYTES = 16 * 1024 * 1024
# Visits are much shorter; of a longer line a person needs no more to see what it was.
KEPT_BYTES = 64 * 1024


class SetAsideLine(msgspec.Struct, frozen=True):
    """A line that begins at `start` in its segment; bytes that are not UTF-8 are written with backslashes."""

    start: int
    reason: str
    line: str


_read = msgspec.json.Decoder(SetAsideLine).decode


class SetAsideFile:
    """Written only by the process that holds the segment's lock."""

    def __init__(self, segment: Path) -> None:
        self.path = segment.with_suffix(SUFFIX)

    @cached_property
    def known(self) -> dict[int, str]:
        """The lines that are in here, by where they begin: a process that was killed may have set some aside."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            # Killed in the middle of writing: the rest would swallow the next line.
            os.truncate(self.path, whole)
        known = {}
        for written in content[:whole].splitlines():
            with suppress(ValueError):  # somebody has edited it
                kept = _read(written)
                known[kept.start] = kept.line
        return known

    def add(self, lines: Iterable[SetAsideLine]) -> int:
        """Keep lines that are not known, as far as there is room; returns how many were kept."""
        room = MOST_BYTES - sum(path.stat().st_size for path in self.path.parent.glob(f"*{SUFFIX}"))
        content, kept = b"", dict[int, str]()
        for line in lines:
            written = msgspec.json.encode(line) + b"\n"
            if len(content) + len(written) <= room:
                content += written
                kept[line.start] = line.line
        if kept:
            self._write(content, kept)
        return len(kept)

    def _write(self, content: bytes, kept: dict[int, str]) -> None:
        known = self.known
        descriptor = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if os.write(descriptor, content) < len(content):
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, "the disk took only a part")
            known |= kept
            # The segment, which has these lines too, may be removed next.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
