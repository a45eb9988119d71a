"""A cursor in a file: which record comes next, and which state of the file it was read from."""

import re
from dataclasses import dataclass
from pathlib import Path

from waypost.adapters.sources.files.formats import Start
from waypost.importing.source import BadCursor

_FORM = re.compile(r"record:(\d{1,18}),offset:(\d{1,18})?,file:(\d{1,20}-\d{1,20}),restarts:(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cursor:
    """`state` is the file's size and time; `restarts` is how often it changed while it was being read."""

    start: Start
    state: str
    restarts: int = 0

    def __str__(self) -> str:
        offset = "" if self.start.offset is None else self.start.offset
        return f"record:{self.start.number},offset:{offset},file:{self.state},restarts:{self.restarts}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        match = _FORM.fullmatch(text)
        if not match:
            raise BadCursor(f"{text!r} is not a cursor of this release's files source")
        return cls(Start(int(match[1]), int(match[2]) if match[2] else None), match[3], int(match[4]))


def state_of(path: Path) -> str:
    found = path.stat()
    return f"{found.st_size}-{found.st_mtime_ns}"
