"""The source that reads files: one shard per file, and pages of records in the order of the file."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import date
from pathlib import Path
from typing import Any

from waypost.adapters.sources.files.definition import FilesDefinition, ending_of, find_files, list_files
from waypost.adapters.sources.files.formats import FileUnusable, Start
from waypost.adapters.sources.files.reading import Cursor, OpenFiles, Reading, ReadingBounds, state_of, telling
from waypost.importing.base import BaseSource
from waypost.importing.definitions import SourceContext
from waypost.importing.plan import MOST_SHARDS
from waypost.importing.source import BadScope, Page, Scope
from waypost.scaling.jobs.shard_keys import BadShardKey, ShardKey
from waypost.telemetry.logs import get_logger

log = get_logger("files")

_FORMS = {("file", "full"), ("file", "refresh")}
_MOST_RESTARTS = 3
_MOST_CHECKED = 10


class FilesSource(BaseSource):
    def __init__(self, definition: FilesDefinition, context: SourceContext) -> None:
        self.name = context.name
        self.licence = context.licence
        self.provider = ", ".join(definition.paths)
        self._definition = definition
        self._folder = context.folder
        self._bounds = ReadingBounds(context.importing.page_size, context.importing.max_answer)
        self._files: dict[str, Path] = {}
        self._open = OpenFiles()

    @property
    def budget_key(self) -> None:
        """None, because no provider is asked."""

    def plan(self, scope: Scope, day: date, import_id: str | None = None) -> list[ShardKey]:
        periods = super().plan(scope, day, import_id)
        self._files = self._find()
        if len(self._files) > MOST_SHARDS:
            raise BadScope(f"there are more than {MOST_SHARDS} files; import them in parts", parameter="paths")
        return [ShardKey(self.name, (("file", file), *period.parts)) for file in self._files for period in periods]

    async def check(self) -> None:
        """Reads one record from a file of each kind."""
        await asyncio.to_thread(self._check)

    async def fetch(self, shard: ShardKey, cursor: str | None) -> Page:
        abandoned = threading.Event()
        try:
            return await asyncio.to_thread(self._fetch, shard, cursor, abandoned.is_set)
        except asyncio.CancelledError:
            # The thread would go on, and keep the process from ending.
            abandoned.set()
            raise

    async def close(self) -> None:
        await asyncio.to_thread(self._open.close)

    def _find(self) -> dict[str, Path]:
        files = find_files(self._definition.paths, self._folder)
        for path in files.values():
            self._definition.format_of(path)
        return files

    def _check(self) -> None:
        """A file that cannot be read ends its own job, unless all seem to be like that."""
        kinds: defaultdict[tuple[str, str], list[Path]] = defaultdict(list)
        for path in self._find().values():
            kinds[ending_of(path), path.suffix].append(path)
        for paths in kinds.values():
            self._check_some(paths[:_MOST_CHECKED])

    def _check_some(self, paths: Sequence[Path]) -> None:
        failures = []
        for path in paths:
            try:
                with telling(path):
                    reading = self._begin(path, Cursor(Start(), state_of(path)))
                with closing(reading):
                    reading.page(ReadingBounds(1, self._bounds.size), lambda: False)
            except FileUnusable as failure:
                failures.append(failure)
            else:
                return
        raise failures[0]

    def _fetch(self, shard: ShardKey, cursor: str | None, is_abandoned: Callable[[], bool]) -> Page:
        """Returns the next page, or the first one again if the file has changed since, or while it was being read."""
        path = self._path(shard)
        at = Cursor.parse(cursor) if cursor is not None else None
        while True:
            with telling(path):
                state = state_of(path)
            if at is None:
                at = Cursor(Start(), state)
            elif at.state != state:
                at = _again(path, at, state)
            reading = self._open.take(str(shard), str(at)) or self._begin(path, at)
            with ExitStack() as unless_kept:
                unless_kept.callback(reading.close)
                page = reading.page(self._bounds, is_abandoned)
                with telling(path):
                    is_same = state_of(path) == state
                if is_same and not page.last:
                    unless_kept.pop_all()
                    self._open.put(str(shard), reading)
            if is_same:
                return page

    def _begin(self, path: Path, at: Cursor) -> Reading:
        form = self._definition.reader_of(path, self._bounds.size)
        fields = self._definition.fields[self._definition.format_of(path)]
        return Reading(path, self.name, form, fields, at)

    def _path(self, shard: ShardKey) -> Path:
        if shard.source != self.name or shard.axes not in _FORMS:
            raise BadShardKey(f"{shard} is not a shard of {self.name}, which has a file, and then full or refresh")
        name = shard["file"]
        if name not in self._files:
            self._files = list_files(self._definition.paths, self._folder)
        if name not in self._files:
            raise FileUnusable(f"{shard}: there is no such file any more among {self.provider} in {self._folder}")
        return self._files[name]


def _again(path: Path, at: Cursor, state: str) -> Cursor:
    if at.restarts >= _MOST_RESTARTS:
        raise FileUnusable(
            f"{path} has changed {at.restarts + 1} times while it was being read",
            next_step="wait until it is complete, or write it elsewhere and rename it; then revive the job",
        )
    log.warning("the file has changed while it was being read, and is read from its beginning", path=str(path))
    return Cursor(Start(), state, at.restarts + 1)


def make(definition: Mapping[str, Any], context: SourceContext) -> FilesSource:
    return FilesSource(FilesDefinition.parse(definition), context)
