"""Parts of a store's places by their ids, which are spread evenly, for stores that keep them in order."""

import uuid
from collections.abc import Sequence
from itertools import pairwise

from waypost.places.store import Part

_IDS = 2**128
# No place has this id: ids carry their version.
_BEFORE_ALL = 0


def id_parts(wanted: int) -> Sequence[Part]:
    ends = [_BEFORE_ALL, *(_IDS * at // wanted - 1 for at in range(1, wanted + 1))]
    return [Part(str(uuid.UUID(int=after)), str(uuid.UUID(int=last))) for after, last in pairwise(ends)]
