"""What a format has to say about a file, and from where it is read on."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from waypost.kernel.errors import TerminalError

# How much of a record that is too large is kept to show what it was.
SHOWN = 1000


@dataclass(frozen=True, slots=True)
class Start:
    """A point between two records: how many come before it, and how many bytes, where these can be skipped."""

    number: int = 0
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """One record as it stands in a file, and why it cannot be taken in, if that is known already.

    `end` is where its bytes end, in a file that can be read on from there.
    """

    content: Any
    end: int | None = None
    reason: str | None = None


Records = Generator[FoundRecord, None, None]


class Format(Protocol):
    def open(self, path: Path, start: Start) -> tuple[Records, int]:
        """Records from `start` or from before it, and how many of them come before it.

        The generator raises FileBroken, or what the system and its decompressor raise; closing it closes the file.
        """

    def decode(self, content: Any) -> tuple[Mapping[str, Any], bytes]:
        """A record's fields, and the record as JSON, to be kept. Raises ValueError."""


@dataclass(frozen=True)
class JsonFormat(ABC):
    """Records that are JSON, in a file that can be read on from an offset unless it is compressed."""

    bound: int

    def open(self, path: Path, start: Start) -> tuple[Records, int]:
        return self._read(path, start.offset or 0), 0 if start.offset else start.number

    def decode(self, content: bytes) -> tuple[Mapping[str, Any], bytes]:
        return decode_json(content), content

    @abstractmethod
    def _read(self, path: Path, offset: int) -> Records: ...


def decode_json(content: bytes) -> Mapping[str, Any]:
    try:
        fields = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(fields, Mapping):
        raise ValueError("it is not an object")  # noqa: TRY004 - one of many things that can be wrong with it
    return fields


def too_large(content: bytes, end: int | None, bound: int) -> FoundRecord:
    return FoundRecord(content[:SHOWN], end, f"it is larger than {bound} bytes (import.max_answer)")


def require_columns(columns: Collection[str], needed: Collection[str]) -> None:
    """Raises FileBroken without them: no record could be taken in, and all that we hold would look deleted."""
    for path in needed:
        if path not in columns and path.partition(".")[0] not in columns:
            raise FileBroken(
                f"it has no column {path}, which [fields] names; it has {', '.join(sorted(columns))[:SHOWN] or 'none'}"
            )


class FileUnusable(TerminalError):
    """A file is gone, may not be read, is damaged, or changes all the time; an import of it would not be whole."""


class FileBroken(Exception):
    """The file does not hold together: there is no telling where its next record begins, or that there is none."""


def missing_library(needed_for: str) -> FileUnusable:
    return FileUnusable(f"{needed_for} needs pyarrow, which is not installed", next_step="pip install 'waypost[files]'")
