"""The limiters that are compared, each as its documentation says that many processes wait for their turns.

Each runs in processes whose Python has its package; so nothing here imports another system.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class System:
    name: str
    module: str
    # What it uses within scripts alone, in Redis' words.
    in_scripts: frozenset[str]

    @property
    def python(self) -> str:
        return sys.executable if self.name == "waypost" else str(_ROOT / ".venv-bench/bin/python")

    @property
    def is_installed(self) -> bool:
        return os.access(self.python, os.X_OK)


WAYPOST = System("waypost", "support.arrivals.waypost", frozenset({"time", "get", "set", "publish"}))
PEERS = (
    System("throttled-py", "bench.budget.systems.throttled", frozenset({"time", "get", "set"})),
    System("throttled-py, no burst", "bench.budget.systems.throttled_even", frozenset({"time", "get", "set"})),
    System("pyrate-limiter", "bench.budget.systems.pyrate", frozenset({"zcount", "zrange", "zadd"})),
    System("limits", "bench.budget.systems.limits", frozenset({"lindex", "lpush", "ltrim", "expire"})),
)
