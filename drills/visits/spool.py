"""The folder in which servers write visits down before they ship them."""

import asyncio
import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from drills.series import TooLong

_PATIENCE = 120.0
_LOOK_SECONDS = 0.05


class NotShipped(TooLong):
    """What dead servers left is still in the spool."""


@dataclass(frozen=True)
class SpoolFolder:
    path: Path
    copies: Path

    def segments(self) -> list[Path]:
        return sorted(path for path in self.path.glob("[!.]*") if path.is_file())

    def filled(self) -> list[Path]:
        return [path for path in self.segments() if _size(path)]

    def copy(self) -> None:
        """As it is at this moment, with what has been shipped already. A later copy of a segment has more in it."""
        self.copies.mkdir(exist_ok=True)
        for path in self.filled():
            try:
                shutil.copyfile(path, self.copies / path.name)
            except FileNotFoundError:
                continue

    def put_back(self) -> list[Path]:
        """All that was copied, as if its servers had just died."""
        return [path.rename(self.path / path.name) for path in sorted(self.copies.iterdir())]

    async def until_gone(self, segments: Collection[Path]) -> None:
        """Until somebody has shipped these."""
        give_up = time.monotonic() + _PATIENCE
        while left := [path.name for path in segments if path.exists()]:
            if time.monotonic() > give_up:
                raise NotShipped(f"still in {self.path} after {_PATIENCE:.0f} s: {', '.join(left[:5])}")
            await asyncio.sleep(_LOOK_SECONDS)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
