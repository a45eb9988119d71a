"""Keys that are configured instead of kept in the store: those of a file, and one from the environment."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from waypost.access.key_file import KeyFileInvalid, read_key_file
from waypost.access.keys import Key, digest_of, parse_token
from waypost.access.settings import KeysSettings
from waypost.kernel.clock import utc_now
from waypost.kernel.configuration import SettingError
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

log = get_logger("access")

_LOOK_SECONDS = 2.0

Kept = Literal["store", "file", "environment"]


class ConfiguredKeys:
    """Two keys of the file may have one id: they are two secrets of one key, as during a rotation."""

    def __init__(self, settings: KeysSettings) -> None:
        """Raises KeyFileInvalid or SettingError, with no secret in the message."""
        self._path = Path(settings.file) if settings.file else None
        self._bootstrap = _read_bootstrap(settings)
        self._seen = self._stamp()
        self._by_id: dict[str, Sequence[Key]] = {}
        self._take(read_key_file(self._path) if self._path else [])

    def __len__(self) -> int:
        return sum(map(len, self._by_id.values()))

    def __iter__(self) -> Iterator[tuple[Key, Kept]]:
        for keys in self._by_id.values():
            yield from ((key, "environment" if key is self._bootstrap else "file") for key in keys)

    def find(self, id: str) -> Sequence[Key]:  # noqa: A002 - as in the store
        return self._by_id.get(id, ())

    def look(self) -> None:
        """Reads the file again if it has changed. What cannot be read leaves the keys as they were."""
        stamp = self._stamp()
        if self._path is None or stamp == self._seen:
            return
        self._seen = stamp
        try:
            self._take(read_key_file(self._path))
        except KeyFileInvalid as error:
            log.error("the keys of the file stay as they were", error=error.slug, message=str(error))  # noqa: TRY400 - expected, and told
        else:
            log.info("the file of keys was read again", count=len(self))

    async def keep_looking(self) -> None:
        look = partial(asyncio.to_thread, self.look)
        await repeat(look, _LOOK_SECONDS, log=log, failing="the file of keys is not looked at for now", at_once=False)

    def _take(self, keys: Sequence[Key]) -> None:
        found: defaultdict[str, list[Key]] = defaultdict(list)
        for key in (*keys, *([self._bootstrap] if self._bootstrap else [])):
            found[key.id].append(key)
        self._by_id = dict(found)

    def _stamp(self) -> tuple[int, ...]:
        """Changes with whatever may change what is read: also with another file under the same name."""
        try:
            found = self._path.stat() if self._path else None
        except OSError:
            return ()
        return (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid) if found else ()


def _read_bootstrap(settings: KeysSettings) -> Key | None:
    if not settings.bootstrap:
        return None
    parsed = parse_token(settings.bootstrap.reveal())
    if parsed is None:
        raise SettingError(
            "keys.bootstrap: this is not a token; one is wp_, 12 hexadecimal digits, _ and 43 letters and digits",
            next_step="print one: waypost key create NAME --scope admin --file keys.toml",
            parameter="keys.bootstrap",
        )
    return Key(id=parsed[0], name="bootstrap", scopes=("admin",), digest=digest_of(parsed[1]), created_at=utc_now())
