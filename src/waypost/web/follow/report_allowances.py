"""How often links may be reported: by everybody together, and from each address, of which only a hash is kept."""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable

from waypost.kernel.clock import monotonic
from waypost.web.http.proxies import client_network

_MOST_ADDRESSES = 4096
_KEY_BYTES = 32


class Allowance:
    """`burst` at once, and one more every `seconds_each`."""

    def __init__(self, burst: int, seconds_each: float, clock: Callable[[], float] = monotonic) -> None:
        self._burst, self._seconds_each, self._clock = burst, seconds_each, clock
        self._left, self._at = float(burst), clock()

    def take(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) / self._seconds_each)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class AllowanceByAddress:
    """An allowance for each address, in this process's memory, under a hash whose key ends with the process."""

    def __init__(self, burst: int, seconds_each: float, clock: Callable[[], float] = monotonic) -> None:
        self._bounds = burst, seconds_each, clock
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._known: OrderedDict[bytes, Allowance] = OrderedDict()

    def take(self, address: str) -> bool:
        hashed = hashlib.blake2b(client_network(address).encode(), key=self._key, digest_size=16).digest()
        allowance = self._known.pop(hashed, None) or Allowance(*self._bounds)
        self._known[hashed] = allowance
        if len(self._known) > _MOST_ADDRESSES:
            self._known.popitem(last=False)
        return allowance.take()
