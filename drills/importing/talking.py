"""Progress for the person who waits."""

import sys
import time

_began = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - _began:6.1f} s  {text}", file=sys.stderr, flush=True)
