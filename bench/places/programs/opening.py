"""Opens the current generation of a folder as a server does, in a fresh process, and prints the seconds."""

import sys
import time
from pathlib import Path

from waypost.serving.shelf import LiveGeneration, Shelf

if __name__ == "__main__":
    live = LiveGeneration(Shelf(Path(sys.argv[1])))
    began = time.perf_counter()
    live.refresh()
    print(time.perf_counter() - began)
