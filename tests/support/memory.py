"""What this process has in memory by itself, without files that it maps."""

from pathlib import Path

MEGABYTE = 2**20


def anonymous_memory() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))
    return int(kilobytes) * 1024
