"""A file of a generation as it arrives: kept when its process dies, and checked before it gets its name."""

import os
from pathlib import Path
from typing import IO

from xxhash import xxh3_64

from waypost.serving.durable import write_file
from waypost.serving.format import Section

_BLOCK = 1 << 20


class Excess(Exception):
    """More bytes arrive than the manifest says."""


class PartialFile:
    """The part of one file that has arrived so far. `close` keeps it on the disk."""

    def __init__(self, folder: Path, section: Section) -> None:
        self._section = section
        self._path = folder / section.name
        self._part = folder / f"{section.name}.part"
        self._tag = folder / f"{section.name}.tag"
        self._file: IO[bytes] = self._part.open("ab+")
        self._checksum = xxh3_64()
        self.size = 0
        self.resumed = False
        self._take_stock()

    @property
    def is_complete(self) -> bool:
        return self.size == self._section.size

    @property
    def tag(self) -> str | None:
        """The origin's name for the bytes that are here."""
        try:
            return self._tag.read_text(encoding="utf-8") or None
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    def restart(self, tag: str | None = None) -> None:
        """Forgets what is here. The old bytes go before the new tag comes: a tag must never name another's bytes."""
        self._file.truncate(0)
        self._checksum = xxh3_64()
        self.size, self.resumed = 0, False
        self._tag.unlink(missing_ok=True)
        if tag:
            write_file(self._tag, [tag.encode()])

    def write(self, chunk: bytes) -> None:
        if self.size + len(chunk) > self._section.size:
            raise Excess
        self._file.write(chunk)
        self._checksum.update(chunk)
        self.size += len(chunk)

    def finish(self) -> bool:
        """Gives the file its name, if its bytes match the manifest; returns whether they do."""
        if not self.is_complete or self._checksum.hexdigest() != self._section.xxh3:
            return False
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.rename(self._path)
        self._tag.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        self._file.close()

    def _take_stock(self) -> None:
        """Reads what an earlier process left."""
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            self._checksum.update(block)
            self.size += len(block)
        self.resumed = self.size > 0
        if self.size > self._section.size:
            self.restart()


def is_whole(path: Path, section: Section) -> bool:
    """Whether a file is here and matches the manifest."""
    try:
        if path.stat().st_size != section.size:
            return False
        checksum = xxh3_64()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                checksum.update(block)
    except OSError:
        return False
    return checksum.hexdigest() == section.xxh3
