"""How two generations differ, place by place, using no more memory than their mappings."""

from collections.abc import Callable, Iterator
from typing import Literal
from uuid import UUID

import msgspec

from waypost.serving.format import FEATURES
from waypost.serving.reading.reader import Generation

Change = Literal["added", "changed", "removed"]
_ROWS_A_STEP = 1000


class Difference(msgspec.Struct, frozen=True):
    change: Change
    id: UUID


def differences(old: Generation, new: Generation, progress: Callable[[int], None]) -> Iterator[Difference]:
    """Yields added and changed places in the order of the new rows, then removed ones in the order of the old rows.

    Every place is looked up in the other generation's index, so that nothing has to be sorted or kept.
    """
    if old.manifest.section(FEATURES) == new.manifest.section(FEATURES):
        return
    for row in range(new.count):
        place_id = new.row_id(row)
        before = old.get(place_id)
        if before is None:
            yield Difference("added", place_id)
        elif before != new.feature(row):
            yield Difference("changed", place_id)
        if row % _ROWS_A_STEP == 0:
            progress(row)
    for row in range(old.count):
        place_id = old.row_id(row)
        if new.get(place_id) is None:
            yield Difference("removed", place_id)
        if row % _ROWS_A_STEP == 0:
            progress(new.count + row)
