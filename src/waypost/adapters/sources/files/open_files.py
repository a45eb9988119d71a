"""Files that stay open from one page to the next, so that each is read once from its beginning to its end."""

import threading
from collections import OrderedDict

from waypost.adapters.sources.files.reading import Reading

# More than a worker works on at once. One that is closed is opened again when its next page is asked for.
_MOST = 16


class OpenFiles:
    """Readings by shard and cursor. A caller that takes one has it alone, and puts it back when it may be read on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: OrderedDict[tuple[str, str], Reading] = OrderedDict()
        self._is_closed = False

    def take(self, shard: str, cursor: str) -> Reading | None:
        with self._lock:
            return self._readings.pop((shard, cursor), None)

    def put(self, shard: str, reading: Reading) -> None:
        with self._lock:
            key = (shard, str(reading.cursor))
            left = [self._readings.pop(key, None)]
            self._readings[key] = reading
            while len(self._readings) > (0 if self._is_closed else _MOST):
                left.append(self._readings.popitem(last=False)[1])
        for each in left:
            if each:
                each.close()

    def close(self) -> None:
        """Closes all files; those that are still being read are closed as soon as they are put back."""
        with self._lock:
            self._is_closed = True
            left = list(self._readings.values())
            self._readings.clear()
        for each in left:
            each.close()
