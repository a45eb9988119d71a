"""When a shard must not end as if all were well: too much of it would be removed, or too little was understood."""

from typing import NamedTuple

from waypost.importing.pages import Writing
from waypost.importing.passes import Judge, Pass
from waypost.kernel.errors import TerminalError
from waypost.scaling.jobs.shard_keys import ShardKey

# This few may be removed or rejected without a person's consent, whatever share they are.
FEW = 20


class MassDelete(TerminalError):
    """More places would be removed than a provider usually deletes; most likely it has lost them itself.

    What to do about it is part of the message, because a job keeps only that of its failure.
    """


class TooManyRejected(TerminalError):
    """So many records could not be understood that the source, or our reading of it, must be wrong."""


class Others(NamedTuple):
    """Totals of an import's other shards that have ended: places that they held, and places that they removed."""

    held: int = 0
    going: int = 0


def import_of(shard: str) -> str | None:
    """The part of the key that all shards of an import share; None for windows, which remove nothing."""
    key = ShardKey.parse(shard)
    for axis in ("full", "refresh"):
        if axis in key.axes:
            return f"{key.source}/{axis}:{key[axis]}"
    return None


def mass_delete(shard: str, writing: Writing, judged: Judge, others: Others) -> MassDelete | None:
    """Judges the shard alone, and then together with all shards of its import that have ended."""
    going, held = judged
    if _is_too_much(going, held, writing.most_removed):
        return _refusal(f"{shard}: the provider no longer has {going} of the {held} places that we hold there", writing)
    going, held = going + others.going, held + others.held
    if judged.going and _is_too_much(going, held, writing.most_removed):
        return _refusal(
            f"{shard}: with it, {going} of the {held} places would be gone in those shards of its import that are"
            " read so far",
            writing,
        )
    return None


def _is_too_much(going: int, held: int, most: float) -> bool:
    return going > FEW and going > held * most


def _refusal(what: str, writing: Writing) -> MassDelete:
    return MassDelete(
        f"{what}, which is more than {writing.most_removed:.0%} (import.most_removed); look at the provider, and if it"
        " is right: waypost import run … --refresh --allow-mass-delete"
    )


def too_many_rejected(shard: str, writing: Writing, read: Pass) -> TooManyRejected | None:
    """A few records may be odd, but not all of them."""
    is_all = read.rejected == read.records
    if read.rejected <= read.records * writing.most_rejected or (read.rejected <= FEW and not is_all):
        return None
    return TooManyRejected(
        f"{shard}: {read.rejected} of {read.records} records were rejected, which is more than"
        f" {writing.most_rejected:.0%} (import.most_rejected); see why with waypost import report, mend the source or"
        " its file, then: waypost job revive"
    )
