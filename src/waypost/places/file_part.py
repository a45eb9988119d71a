"""A part of a file of places, for a process of its own."""

import msgspec


class FilePart(msgspec.Struct, frozen=True, tag=True):
    """Some records of a file: `count` of them after the first `number`, or those in the bytes from `offset` to `end`.

    Where neither can be found without reading the file, every `step`th record after the first `number`.
    """

    path: str
    number: int = 0
    count: int | None = None
    offset: int = 0
    end: int | None = None
    step: int = 1
