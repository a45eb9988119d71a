"""What two generations do not have in common, place by place, in no more memory than one of them takes mapped."""

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
    """What is added and changed in the order of the new one's rows, then what is removed in that of the old one's.

    Each side looks every place up in the other by its index, so that nothing has to be sorted or kept.
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
