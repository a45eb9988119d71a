"""All keys that open this server, and who shows one of them."""

from collections.abc import Callable, Sequence
from datetime import datetime

from waypost.access.caller import Caller
from waypost.access.configured_keys import ConfiguredKeys
from waypost.access.key_uses import KeyUses
from waypost.access.keys import Key, KeyExpired, KeyRefused, check_secret, parse_token
from waypost.access.settings import KeysSettings
from waypost.access.store import KeyStore
from waypost.kernel.clock import monotonic, utc_now
from waypost.scaling.caching.cache import Cache, Lifetimes, Loaded
from waypost.scaling.caching.memory import MemoryCache

# Where a key may come from memory, it is noticed after this time that it was revoked or rotated. Its end is in memory
# too, and is never noticed late.
_FRESH_SECONDS = 10.0
# While the store is away, keys that are known open what they did before.
_KEPT_SECONDS = 600.0
_UNKNOWN_SECONDS = 5.0
_MOST_KEYS = 10_000


class KeyRing:
    """Keys that are configured, and those of the store, if there is one."""

    def __init__(
        self,
        store: KeyStore | None,
        configured: ConfiguredKeys | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store, self._clock = store, clock
        self._configured = ConfiguredKeys(KeysSettings()) if configured is None else configured
        self.uses = KeyUses(store) if store else None
        lifetimes = Lifetimes(_FRESH_SECONDS, _KEPT_SECONDS, _UNKNOWN_SECONDS)
        self._known: Cache[str, Key] = MemoryCache[str, Key](self._load, lifetimes, most=_MOST_KEYS)

    async def recognise(self, token: str, *, from_memory: bool = False) -> Caller:
        """The caller with this token, by what the store says now, or said a few seconds ago.

        Raises KeyRefused or KeyExpired.
        """
        parsed = parse_token(token)
        if parsed is None:
            raise KeyRefused
        if caller := self._configured_caller(*parsed):
            return caller
        key = await (self._known.get(parsed[0]) if from_memory else self._find(parsed[0]))
        if key is None:
            raise KeyRefused
        return self._admit(key, parsed[1])

    def recall(self, token: str) -> Caller | None:
        """Like `recognise` from memory, for those who cannot wait: None if the store must be asked, or refuses."""
        parsed = parse_token(token)
        if parsed is None:
            return None
        try:
            if caller := self._configured_caller(*parsed):
                return caller
            key = self._known.hit(parsed[0], monotonic())
            return self._admit(key, parsed[1]) if key else None
        except (KeyRefused, KeyExpired):
            return None

    def _configured_caller(self, id: str, secret: str) -> Caller | None:  # noqa: A002 - it is what it is
        for key in self._configured.find(id):
            try:
                check_secret(key, secret, self._clock())
            except KeyRefused:
                continue
            except KeyExpired:
                raise KeyExpired(
                    "this key has expired; ask those who look after the file of keys for a new one"
                ) from None
            return Caller(key)
        return None

    def _admit(self, key: Key, secret: str) -> Caller:
        now = self._clock()
        check_secret(key, secret, now)
        if self.uses:
            self.uses.note(key.id, now)
        return Caller(key)

    async def _find(self, id: str) -> Key | None:  # noqa: A002 - as in the store
        return await self._store.find(id) if self._store else None

    async def _load(self, ids: Sequence[str]) -> list[Loaded[Key]]:
        return [Loaded(await self._find(each)) for each in ids]
