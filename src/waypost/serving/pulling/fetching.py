"""Fetches one file from an origin, in as many answers as it takes."""

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing, closing
from pathlib import Path

from waypost.kernel.backoff import full_jitter
from waypost.serving.format import Section
from waypost.serving.pulling.origin import Arriving, Origin, OriginAway, OriginBroken
from waypost.serving.pulling.part import Excess, PartialFile

_TRIES = 5
# An answer that brought this much does not count as failed.
_WORTH_IT = 1 << 16
_BASE_SECONDS, _CAP_SECONDS = 0.5, 10.0

# How much of the file is here.
OnBytes = Callable[[int], None]


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
