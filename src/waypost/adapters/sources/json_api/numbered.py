"""Cursors of pages that have numbers: `page:3:<read>:<count>:<total>:<check>`, or `offset:200:…`.

`read` is how many records came so far, `count` how many of them with the page before, and `total` how many there are,
if the provider says. The check is a digest of the page before: a provider that ignores the parameter would send that
page for ever.
"""

import re

import msgspec

from waypost.adapters.sources.tally import RecordTally

_FORM = re.compile(r"(page|offset):(\d{1,18}):(\d{1,18}):(\d{1,18}):(\d{1,18})?:([0-9a-f]+)", re.ASCII)


class Numbered(msgspec.Struct, frozen=True):
    """The page at this position; `count` and `check` are of the page before it, and `tally` of all before it."""

    kind: str
    position: int
    count: int
    tally: RecordTally
    check: str

    def __str__(self) -> str:
        total = "" if self.tally.total is None else self.tally.total
        return f"{self.kind}:{self.position}:{self.tally.read}:{self.count}:{total}:{self.check}"

    @classmethod
    def parse(cls, cursor: str) -> "Numbered | None":
        match = _FORM.fullmatch(cursor)
        if not match:
            return None
        tally = RecordTally(int(match[3]), int(match[5]) if match[5] else None)
        return cls(match[1], int(match[2]), int(match[4]), tally, match[6])
