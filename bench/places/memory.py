"""What processes have in memory, by the kernel's count: a page that several share counts as a part for each."""

import re
from dataclasses import dataclass
from pathlib import Path

_MIB = 1024
# The first line of a mapping, with its file; and those below it.
_MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)$")


@dataclass(frozen=True)
class Memory:
    """In MiB, the last two of the snapshot alone. Shares divide each page by the number of those who have it."""

    resident: float = 0.0
    shares: float = 0.0
    anonymous: float = 0.0
    mapped: float = 0.0
    mapped_shares: float = 0.0


def memory_of(pid: int, files: Path) -> Memory:
    """`files` is the folder whose mappings count as the snapshot's."""
    kib = _rollup(pid)
    mapped, shares = _mapped(pid, files)
    return Memory(kib["Rss"] / _MIB, kib["Pss"] / _MIB, kib["Anonymous"] / _MIB, mapped / _MIB, shares / _MIB)


def shares_of_tree(pid: int) -> float:
    """MiB of a process and all that it started, together."""
    return sum(_rollup(each).get("Pss", 0) for each in _tree(pid)) / _MIB


def _rollup(pid: int) -> dict[str, int]:
    """Nothing of a process that has ended."""
    lines = _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()[1:]
    return {name.rstrip(":"): int(size) for name, size, _ in map(str.split, lines)}


def _mapped(pid: int, files: Path) -> tuple[int, int]:
    """Rss and Pss of the mappings of files in this folder, in KiB."""
    within, rss, pss = False, 0, 0
    for line in _read(Path(f"/proc/{pid}/smaps")).splitlines():
        if start := _MAPPING.match(line):
            within = start[1].startswith(f"{files.resolve()}/")
        elif within and line.startswith("Rss:"):
            rss += int(line.split()[1])
        elif within and line.startswith("Pss:"):
            pss += int(line.split()[1])
    return rss, pss


def _tree(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for thread in threads for child in _read(thread / "children").split()]
    return [pid, *(each for child in children for each in _tree(child))]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
