"""Remembers recent results within a bound of bytes, so that paging through an answer does not search for each page."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Found = TypeVar("Found")
# About how many bytes an entry takes besides its result.
_ENTRY = 512


class Recent(Generic[Found]):
    """Drops the least recently used first; results larger than half the bound are not kept."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._found: OrderedDict[Hashable, tuple[Found, int]] = OrderedDict()

    def get(self, key: Hashable) -> Found | None:
        entry = self._found.get(key)
        if entry is None:
            return None
        self._found.move_to_end(key)
        return entry[0]

    def put(self, key: Hashable, found: Found, size: int) -> None:
        size += _ENTRY
        if size > self._most // 2:
            return
        if old := self._found.pop(key, None):
            self._held -= old[1]
        self._found[key] = found, size
        self._held += size
        while self._held > self._most:
            _, (_, gone) = self._found.popitem(last=False)
            self._held -= gone
