"""What one process of a build is asked to do, and its result."""

import msgspec

from waypost.places.file_part import FilePart
from waypost.places.store import Part
from waypost.serving.building.runs import Run
from waypost.serving.building.sections import Step
from waypost.serving.format import Section


class Read(msgspec.Struct, frozen=True, tag=True):
    """Read a part of the store or of a file, and write it to runs in the workplace whose names begin with `name`."""

    part: Part | FilePart
    name: str
    memory: int


class Do(msgspec.Struct, frozen=True, tag=True):
    step: Step


class Task(msgspec.Struct, frozen=True):
    place: str
    work: Read | Do


class TaskDone(msgspec.Struct, frozen=True, tag=True):
    runs: tuple[Run, ...] = ()
    section: Section | None = None
