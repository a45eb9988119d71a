"""Fetches one file from an origin, in as many answers as it takes; what has arrived is kept, and checked at the end."""

import asyncio
import os
import random
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path
from typing import IO

from xxhash import xxh3_64

from waypost.kernel.backoff import full_jitter
from waypost.serving.durable import write_file
from waypost.serving.format import Section
from waypost.serving.pulling.origin import Arriving, Origin, OriginAway, OriginBroken

_BLOCK = 1 << 20
_TRIES = 5
# An answer that brought this much does not count as failed.
_WORTH_IT = 1 << 16
_BASE_SECONDS, _CAP_SECONDS = 0.5, 10.0

# How much of the file is here.
OnBytes = Callable[[int], None]


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


class Fetcher:
    """`received` counts the bytes that came over the network, even those thrown away."""

    def __init__(self, origin: Origin, rng: random.Random) -> None:
        self._origin = origin
        self._rng = rng
        self.received = 0

    async def fetch(self, folder: Path, section: Section, on_bytes: OnBytes) -> None:
        """Puts the file into the folder, whose name is the generation's. What arrives is kept even if this fails."""
        where = f"{folder.name}/{section.name}"
        failed = 0
        with closing(await asyncio.to_thread(PartialFile, folder, section)) as part:
            while True:
                before = self.received
                try:
                    if not part.is_complete:
                        await self._receive(part, section, where, on_bytes)
                    if await asyncio.to_thread(part.finish):
                        return
                    self._begin_again(part, where)
                except OriginAway:
                    failed = 1 if self.received - before >= _WORTH_IT else failed + 1
                    if failed >= _TRIES:
                        raise
                    await asyncio.sleep(full_jitter(failed, base=_BASE_SECONDS, cap=_CAP_SECONDS, rng=self._rng))

    async def _receive(self, part: PartialFile, section: Section, where: str, on_bytes: OnBytes) -> None:
        """Writes as much of the file as one answer brings."""
        async with self._origin.open(where, part.size, part.tag) as arriving:
            self._refuse_wrong_size(arriving, section, where)
            if arriving.start and arriving.start == part.size:
                part.resumed = True
            else:
                part.restart(arriving.tag)
            async with aclosing(arriving.chunks) as chunks:
                async for chunk in chunks:
                    self.received += len(chunk)
                    self._write(part, chunk, where)
                    on_bytes(part.size)
        if not part.is_complete:
            raise OriginAway(f"{self._origin.url}/{where} ended after {part.size:,} of {section.size:,} bytes")

    def _write(self, part: PartialFile, chunk: bytes, where: str) -> None:
        try:
            part.write(chunk)
        except Excess:
            part.restart()
            raise OriginBroken(f"{self._origin.url}/{where} has more bytes than its manifest says") from None

    def _refuse_wrong_size(self, arriving: Arriving, section: Section, where: str) -> None:
        if arriving.size is not None and arriving.size != section.size:
            raise OriginBroken(
                f"{self._origin.url}/{where} has {arriving.size:,} bytes, and its manifest says {section.size:,}"
            )

    def _begin_again(self, part: PartialFile, where: str) -> None:
        """Starts over if the bytes came in several answers, which may not fit together; else raises OriginBroken."""
        resumed = part.resumed
        part.restart()
        if not resumed:
            raise OriginBroken(
                f"{self._origin.url}/{where} is damaged: its checksum is not the one in its manifest",
                next_step="where it comes from: waypost snapshot verify",
            )
