"""A store that all examples of a law share."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from support.stores import Backend, open_backend


@dataclass(frozen=True)
class Kept:
    """Each example has an area of its own: to make a store takes longer than they do."""

    backend: Backend
    runner: asyncio.Runner
    _numbers: Iterator[int] = field(default_factory=count)

    def check(self, law: Callable[[Backend, int], Coroutine[Any, Any, None]]) -> None:
        self.runner.run(law(self.backend, next(self._numbers)))


def keep(name: str, folder: Path, flags: dict[str, str] | None = None) -> Iterator[Kept]:
    with asyncio.Runner() as runner:
        opened = open_backend(name, folder, flags)
        yield Kept(runner.run(opened.__aenter__()), runner)
        runner.run(opened.__aexit__(None, None, None))
