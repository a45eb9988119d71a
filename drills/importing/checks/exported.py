"""What `waypost place export` wrote, to be looked up by external id: more than fits into memory comfortably."""

import mmap
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec


class _Line(msgspec.Struct):
    external_id: str


_line = msgspec.json.Decoder(_Line)


class ExportedPlaces:
    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        # An empty file cannot be mapped.
        self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else None
        self._at: dict[str, tuple[int, int]] = {}
        # Ids that were there before.
        self.doubled: list[str] = []
        for begin, end in self._lines():
            external_id = _line.decode(self._read(begin, end)).external_id
            if external_id in self._at:
                self.doubled.append(external_id)
            self._at[external_id] = begin, end

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        if self._map:
            self._map.close()
        self._file.close()

    def ids(self) -> set[str]:
        return set(self._at)

    def get(self, external_id: str) -> dict[str, Any] | None:
        if external_id not in self._at:
            return None
        found: dict[str, Any] = msgspec.json.decode(self._read(*self._at[external_id]))
        return found

    def _lines(self) -> Iterator[tuple[int, int]]:
        begin = 0
        while self._map and (end := self._map.find(b"\n", begin)) >= 0:
            yield begin, end
            begin = end + 1

    def _read(self, begin: int, end: int) -> bytes:
        assert self._map
        return self._map[begin:end]
