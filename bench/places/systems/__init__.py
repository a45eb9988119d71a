"""What answers: each a server of its own, and how it is asked. One process and one core each, in its best documented
form.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.places.questions import Kind, Question

Ask = Callable[[Question], str]


@dataclass(frozen=True)
class Serving:
    url: str
    pid: int


@dataclass(frozen=True)
class System:
    """`paths` has the kinds that it can answer; `serve` starts it on a core."""

    name: str
    paths: Mapping[Kind, Ask]
    serve: Callable[[int], AbstractContextManager[Serving]]


@dataclass(frozen=True)
class Stock:
    """Where the places are for those who serve them."""

    folder: Path
    places: Path
    snapshots: Path
