"""The result of a query: rows, and their Features as slices of the mapping."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.uint32]
# As an array: numpy would make one for each comparison.
_ONE = np.array(1, dtype=np.uint32)


class Selected(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The rows of one answer, ascending, or nearest first with their distances in `metres`.

    `matched` counts all rows that match the query; None where counting would take too long. `next` is where the next
    answer starts, None at the end.
    """

    matched: int | None
    rows: Rows
    next: int | None
    metres: NDArray[np.float64] | None = None
    features: memoryview
    offsets: memoryview

    def chunks(self) -> list[memoryview]:
        """The rows' features with commas between them; neighbouring rows are one slice."""
        rows, at = self.rows, self.offsets
        if not len(rows):
            return []
        features, slices, start = self.features, [], 0
        for end in ((rows[1:] - rows[:-1]) != _ONE).nonzero()[0].tolist():
            slices.append(features[at[rows.item(start)] : at[rows.item(end) + 1]])
            start = end + 1
        slices.append(features[at[rows.item(start)] : at[rows.item(-1) + 1] - 1])
        return slices

    def join(self) -> bytes:
        return b"".join(self.chunks())


def feature_collection(selected: Selected, attribution: Sequence[str] = ()) -> bytes:
    """The answer as GeoJSON, with the counts that OGC API Features asks for, and the attribution."""
    matched = b"" if selected.matched is None else b'"numberMatched":%d,' % selected.matched
    opening = b'{"type":"FeatureCollection",%b"numberReturned":%d,"attribution":%b,"features":['
    head = opening % (matched, len(selected.rows), msgspec.json.encode(attribution))
    return b"".join((head, *selected.chunks(), b"]}"))
