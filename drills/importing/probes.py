"""How late a request may be: a small one of our own goes to the provider all the time, and tells how long it took.

On a machine with more to do than it can, requests that left in time arrive together. What the provider noted is judged
with that in mind, and only there.
"""

import http.client
import threading
import time
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlsplit

# Providers do not count it, and break none of their answers.
PROBED = "/livez"
_EVERY_SECONDS = 0.05
_TIMEOUT = 30.0


class Probe(NamedTuple):
    sent: float
    took: float


class Probes:
    """From a thread of its own, so that nothing else that we do delays it."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probes", daemon=True)
        self.probes: list[Probe] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(_TIMEOUT)

    def slowest(self, begin: float, end: float) -> float:
        """Of those under way at some moment in between."""
        return max(
            (each.took for each in self.probes if each.sent <= end and each.sent + each.took >= begin), default=0
        )

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT)
        while not self._stop.wait(_EVERY_SECONDS):
            sent = time.monotonic()
            try:
                connection.request("GET", PROBED)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                # It is away; the next request makes a new connection.
                connection.close()
            else:
                self.probes.append(Probe(sent, time.monotonic() - sent))
        connection.close()
