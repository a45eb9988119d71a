"""A number that one process counts up and another reads, at the cost of neither a system call nor a statement."""

import mmap
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

_BYTES = 8


def shared_number(file: IO[bytes]) -> memoryview:
    return memoryview(mmap.mmap(file.fileno(), _BYTES)).cast("Q")


class Counter:
    """Made by the one who reads; the other opens its path."""

    def __init__(self) -> None:
        self._file = NamedTemporaryFile(prefix="waypost-bench-")  # noqa: SIM115 - as long as the counter
        self._file.write(bytes(_BYTES))
        self._file.flush()
        self._number = shared_number(self._file.file)

    @property
    def path(self) -> Path:
        return Path(self._file.name)

    @property
    def value(self) -> int:
        return int(self._number[0])

    def close(self) -> None:
        self._file.close()
