"""Checking the passwords of protected links: slowly, and one after the other for each link."""

import asyncio
from collections.abc import Callable

from waypost.web.http.concurrency_limit import ConcurrencyLimit

# A wrong password keeps the next one for its link waiting for this long: nobody guesses more than one a second.
_PAUSE_SECONDS = 1.0
_WAITING_AT_LINK = 4
# Each comparison takes much memory on purpose.
_AT_ONCE = 2
_WAITING = 30

Verify = Callable[[str, str], bool]


class PasswordChecker:
    """`verify` compares a hash with a password and takes its time, so that it runs in a thread."""

    def __init__(self, verify: Verify, *, pause: float = _PAUSE_SECONDS) -> None:
        self._verify = verify
        self._pause = pause
        self._comparing = ConcurrencyLimit(_AT_ONCE, waiting=_WAITING)
        # Links whose passwords are being tried.
        self._at_link: dict[str, ConcurrencyLimit] = {}

    async def fits(self, link_id: str, hashed: str, password: str) -> bool:
        """Raises TooManyAtOnce when too many are trying."""
        turn = self._at_link.setdefault(link_id, ConcurrencyLimit(1, waiting=_WAITING_AT_LINK))
        try:
            async with turn:
                async with self._comparing:
                    is_right = await asyncio.to_thread(self._verify, hashed, password)
                if not is_right:
                    await asyncio.sleep(self._pause)
                return is_right
        finally:
            if not turn.inside:
                self._at_link.pop(link_id, None)
