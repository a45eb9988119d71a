"""A pass: one reading of a shard from its first page to its last, and how it ends, in steps of bounded size.

    reading ──last page──> sweeping ──> doubting ──> counting ──> judging ──> removing ──> clearing ──> over
                 └──it cannot say for sure what is gone────> forgetting ───────────────────────^

Where pages come in no order, a pass marks what it has seen; where they come in order, each page finds by itself what is
gone, unless that is too much for one commit. The rest of the numbers it covers is a gap, which is swept at the end.
Stores keep the state, and do the steps that it asks for.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from waypost.importing.source import Extent, Page
from waypost.kernel.ids import new_id

# The cursor of a shard that has been read, but is not yet over. A source's cursor must not begin like it.
ENDING = "waypost:ending"

# How many rows a commit may look through, and how many of those removing a place and clearing a mark count for.
ROOM = 5000
_REMOVAL, _CLEARING = 5, 2

Phase = Literal["reading", "sweeping", "doubting", "counting", "judging", "removing", "forgetting", "clearing", "over"]


class Gap(msgspec.Struct, frozen=True):
    """Numbers after a place that a page has covered, and that are yet to be compared with what was seen.

    An open gap is covered only together with all pages that follow.
    """

    number: int
    external_id: str
    end: int | None
    requested_at: datetime
    is_open: bool = False

    def left_by(self, did: "Did", limit: int) -> "Gap | None":
        """What a step through `limit` rows has left of it."""
        return None if did.rows < limit else replace(self, number=did.number, external_id=did.external_id)


class Pass(msgspec.Struct, frozen=True, omit_defaults=True):
    """`marks` names the marks of this reading, and `stale` those of earlier readings, which no longer count.

    `unsure` is why nothing may be removed; with `doubts` only what the pass before has missed too. `kept` are
    places that were there before and still are, `going` those that would be removed. `after` is how far a step has
    come, by external id.
    """

    phase: Phase = "reading"
    marks: str | None = None
    stale: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    covered: bool = False
    unsure: str | None = None
    doubts: bool = False
    records: int = 0
    rejected: int = 0
    kept: int = 0
    going: int = 0
    after: str = ""
    parts: tuple[str, ...] = ()

    @property
    def held(self) -> int:
        """How many places of the shard we had when it was read."""
        return self.kept + self.going

    @property
    def uncleared(self) -> tuple[str, ...]:
        """The names of all marks that are still there."""
        return self.stale if self.marks is None else (*self.stale, self.marks)

    def begun_again(self) -> "Pass":
        return Pass(stale=self.uncleared)

    def reading(self, page: Page, extent: Extent, requested_at: datetime) -> "Pass":
        """Notes, before a page is written, whether it begins a list without order and can be trusted."""
        state = self
        if page.covers and not page.last and page.covers.end == extent.numbers.end:
            # More pages follow, and yet it covers everything to the end: they come in no order.
            whole = Gap(page.covers.start, "", page.covers.end, requested_at, is_open=True)
            state = replace(self.begun_again(), marks=str(new_id()), gaps=(whole,))
        unsure = page.moved or ("a record tells no id" if page.hides_some else None)
        return replace(state, covered=state.covered or page.covers is not None, unsure=state.unsure or unsure)

    def leaving(self, gap: Gap) -> "Pass":
        """Leaves a gap for later: a page covers more than one commit looks through."""
        return replace(self, marks=self.marks or str(new_id()), gaps=(*self.gaps, gap))

    def counting(self, *, records: int, rejected: int, kept: int) -> "Pass":
        return replace(self, records=self.records + records, rejected=self.rejected + rejected, kept=self.kept + kept)

    def ending(self, page: Page, parts: Sequence[str]) -> "Pass":
        """The last page is written. With parts, the shard is not read to its end, so gaps left open do not count."""
        gaps = tuple(gap for gap in self.gaps if not (parts and gap.is_open))
        return replace(
            self,
            phase="forgetting" if self.unsure else "sweeping",
            doubts=not page.certain,
            gaps=gaps,
            parts=tuple(parts),
        )


class Did(NamedTuple):
    """How many rows a step looked through, up to which row, and how many of them would be removed."""

    rows: int = 0
    number: int = 0
    external_id: str = ""
    going: int = 0


class Sweep(NamedTuple):
    """Look through `limit` places that we hold in a gap; those without a mark become candidates."""

    gap: Gap
    marks: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        rest = self.gap.left_by(did, self.limit)
        return replace(state, gaps=(*([rest] if rest else []), *state.gaps[1:]))


class Doubt(NamedTuple):
    """Look through `limit` candidates; those missed for the first time are kept for the next pass to confirm."""

    after: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        if did.rows < self.limit:
            return replace(state, phase="counting", after="")
        return replace(state, phase="doubting", after=did.external_id)


class Count(NamedTuple):
    """Look through `limit` candidates, and count those that would be removed."""

    after: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        going = state.going + did.going
        if did.rows < self.limit:
            return replace(state, phase="judging", going=going, after="")
        return replace(state, phase="counting", going=going, after=did.external_id)


class Judge(NamedTuple):
    """Decide whether `going` places may be removed, and write the count down for the other shards of the import."""

    going: int
    held: int

    def then(self, state: Pass, _did: Did) -> Pass:
        return replace(state, phase="removing")


class Remove(NamedTuple):
    """Take `limit` candidates, and remove those that no page has had since."""

    after: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        return _taken(state, did, self.limit)


class Forget(NamedTuple):
    """Take `limit` candidates off the list, and remove nothing."""

    after: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        return _taken(state, did, self.limit)


class Clear(NamedTuple):
    """Forget `limit` marks."""

    marks: str
    after: str
    limit: int

    def then(self, state: Pass, did: Did) -> Pass:
        if did.rows < self.limit:
            return _clearing(replace(state, after="", stale=state.uncleared[1:], marks=None))
        return replace(state, after=did.external_id)


Step = Sweep | Doubt | Count | Judge | Remove | Forget | Clear


def next_step(state: Pass, room: int) -> Step | None:
    """Returns None when there is nothing more to do, or no room for it in this commit."""
    step: Step | None = None
    match state.phase if room > 0 else "over":
        case "sweeping" if state.gaps:
            step = Sweep(state.gaps[0], state.marks or "", room)
        case "sweeping":
            step = Doubt("", room) if state.doubts else Count("", room)
        case "doubting":
            step = Doubt(state.after, room)
        case "counting":
            step = Count(state.after, room)
        case "judging":
            step = Judge(state.going, state.held)
        case "removing":
            step = Remove(state.after, max(1, room // _REMOVAL))
        case "forgetting":
            step = Forget(state.after, room)
        case "clearing":
            step = Clear(state.uncleared[0], state.after, max(1, room // _CLEARING))
    return step


def missed_once(extent: Extent) -> str:
    """Returns the name under which candidates are kept for the next pass; no shard has this name."""
    return f"once:{extent.source}/{extent.area}"


def cost(step: Step, did: Did) -> int:
    """Returns how much of a commit's room a step has used."""
    match step:
        case Count() if did.going:
            # Judging may have to wait for another shard of the import. It begins a commit of its own, so that no page
            # is lost with a lease that runs out meanwhile.
            return step.limit
        case Remove():
            return did.rows * _REMOVAL
        case Clear():
            return did.rows * _CLEARING
    return did.rows


def _taken(state: Pass, did: Did, limit: int) -> Pass:
    return _clearing(replace(state, after="")) if did.rows < limit else replace(state, after=did.external_id)


def _clearing(state: Pass) -> Pass:
    return replace(state, phase="clearing" if state.uncleared else "over")
