"""The keys that visitors are hashed with: a new one each day (UTC), shared by the fleet and thrown away afterwards.

Without the key nobody can find out, by trying addresses, whose hash it was.
"""

import secrets
from collections.abc import Mapping
from datetime import date, timedelta

import msgspec

from waypost.kernel.clock import utc_now
from waypost.scaling.fact_store import Facts
from waypost.scaling.repeating import repeat
from waypost.telemetry.logs import get_logger

log = get_logger("visits")

# One fact holds all keys, by date: a process that replaces it leaves old days out, and so forgets them.
FACT = "visitor-keys"
_KEY_BYTES = 32
_RENEW_SECONDS = 3600.0

_dates = msgspec.json.Decoder(dict[date, str])


class DayKeys:
    """Holds the keys of today and tomorrow, so that nothing has to happen at midnight."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._keys: dict[date, bytes] = {}

    async def renew(self, today: date) -> None:
        """Agree with the fleet on the keys of today and tomorrow, and drop older ones."""
        wanted = (today, today + timedelta(days=1))
        while True:
            known = await self._facts.get(FACT)
            shared = _dates.decode(known) if known else {}
            keys = {day: shared.get(day) or secrets.token_hex(_KEY_BYTES) for day in wanted}
            if keys == shared or await self._facts.replace(FACT, known, _encode(keys)):
                break
        self._keys = {day: bytes.fromhex(key) for day, key in keys.items()}

    async def keep_renewing(self) -> None:
        """Renews the keys every hour until cancelled."""
        failing = "the keys of visitors are not renewed for now"
        await repeat(lambda: self.renew(utc_now().date()), _RENEW_SECONDS, log=log, failing=failing, at_once=False)

    def of(self, day: date) -> bytes:
        """The key of a day. Never waits: after a day without the store, this process uses a key of its own."""
        if day not in self._keys:
            log.warning("no key for visitors is shared for this day", day=day.isoformat())
            self._keys[day] = secrets.token_bytes(_KEY_BYTES)
        return self._keys[day]


def _encode(keys: Mapping[date, str]) -> str:
    return msgspec.json.encode(keys).decode()
