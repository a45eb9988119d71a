"""All keys that open this server, and who shows one of them."""

from collections.abc import Callable
from datetime import datetime

from waypost.access.caller import Caller
from waypost.access.key_uses import KeyUses
from waypost.access.keys import KeyRefused, check_secret, parse_token
from waypost.access.store import KeyStore
from waypost.kernel.clock import utc_now


class KeyRing:
    def __init__(self, store: KeyStore, clock: Callable[[], datetime] = utc_now) -> None:
        self._store, self._clock = store, clock
        self.uses = KeyUses(store)

    async def recognise(self, token: str) -> Caller:
        """The caller with this token, as the store knows it at this moment. Raises KeyRefused or KeyExpired."""
        parsed = parse_token(token)
        key = await self._store.find(parsed[0]) if parsed else None
        if parsed is None or key is None:
            raise KeyRefused
        now = self._clock()
        check_secret(key, parsed[1], now)
        self.uses.note(key.id, now)
        return Caller(key)
