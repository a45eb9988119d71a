"""What imports places: each a command, and how to read what it reports."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.importing.provider import Provider
from bench.importing.stores import Store

_ROOT = Path(__file__).parents[2]
_BENCH_PYTHON = str(_ROOT / ".venv-bench/bin/python")


def plain_environ() -> dict[str, str]:
    """Nothing of the settings of whoever runs this."""
    left_out = ("WAYPOST_", "PYTHONPATH", "DLT_")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


@dataclass(frozen=True)
class Waypost:
    processes: int = 1
    name: str = "waypost"

    def prepare(self, store: Store) -> None:
        """Its tables."""
        command = [sys.executable, "-m", "waypost", "db", "migrate"]
        subprocess.run(command, cwd=store.folder, env=self._own(store), check=True, capture_output=True)

    def command(self, provider: Provider, _store: Store, *, again: bool) -> list[str]:
        """What was imported today is asked for again with --refresh alone, which also looks for what is gone."""
        run = [sys.executable, "-m", "waypost", "import", "run", "--country", ",".join(provider.countries)]
        return [*run, "--processes", str(self.processes), "--json", *(["--refresh"] if again else [])]

    def environ(self, provider: Provider, store: Store) -> dict[str, str]:
        return self._own(store) | {"WAYPOST_OCM_URL": provider.url, "WAYPOST_BUDGET": "1000000/s"}

    def places(self, report: dict[str, Any]) -> int:
        return sum(int(report[name]) for name in ("added", "changed", "unchanged"))

    def _own(self, store: Store) -> dict[str, str]:
        own = {"WAYPOST_STORE": store.url, "WAYPOST_DATA": str(store.folder), "WAYPOST_LOG_LEVEL": "warning"}
        return plain_environ() | own


@dataclass(frozen=True)
class Program:
    """A module here that takes the provider's address, its countries, the store and a folder, and prints a report."""

    name: str
    module: str
    python: str
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """Whether its Python has the package that the module is named after."""
        package = self.module.rpartition(".")[2]
        look = [self.python, "-c", f"import sys, importlib.util as u; sys.exit(not u.find_spec({package!r}))"]
        return os.access(self.python, os.X_OK) and not subprocess.run(look, check=False).returncode

    def prepare(self, store: Store) -> None:
        """It makes its tables by itself."""

    def command(self, provider: Provider, store: Store, *, again: bool) -> list[str]:  # noqa: ARG002 - the same again
        given = [provider.url, ",".join(provider.countries), store.url, str(store.folder), *self.arguments]
        return [self.python, "-m", self.module, *given]

    def environ(self, _provider: Provider, store: Store) -> dict[str, str]:
        return plain_environ() | {"PYTHONPATH": str(_ROOT), "DLT_DATA_DIR": str(store.folder), **self.settings}

    def places(self, report: dict[str, Any]) -> int:
        return int(report["places"])


System = Waypost | Program

# It tells nobody that it runs, compresses no file that is read a moment later, keeps few pages in memory, and has files
# enough for its threads.
_DLT_SETTINGS = {
    "RUNTIME__DLTHUB_TELEMETRY": "false",
    "RUNTIME__LOG_LEVEL": "ERROR",
    "DATA_WRITER__DISABLE_COMPRESSION": "true",
    "DATA_WRITER__FILE_MAX_ITEMS": "10000",
    "EXTRACT__WORKERS": "4",
    "EXTRACT__MAX_PARALLEL_ITEMS": "4",
    "NORMALIZE__WORKERS": "1",
    "LOAD__WORKERS": "4",
}


def _dlt(name: str, kind: str) -> Program:
    return Program(f"dlt, {name}", "bench.importing.programs.dlt", _BENCH_PYTHON, (kind,), _DLT_SETTINGS)


WAYPOST = Waypost()
FLOOR = Program("floor", "bench.importing.programs.floor", sys.executable)
PEERS = (_dlt("Arrow", "arrow"), _dlt("one JSON column", "json"), _dlt("nested", "nested"))
