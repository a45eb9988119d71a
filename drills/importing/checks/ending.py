"""All imports ended, and no worker met a defect or left."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drills.importing.imports import Done
from drills.importing.verdicts import Verdict

_EXAMPLES = 5
# PostgreSQL's driver forgets a future of its own when the server is killed while it connects; nobody waits for it.
_FORGOTTEN = "Future exception was never retrieved"


def check_imports(imports: Sequence[Done], windows: Sequence[Mapping[str, Any]]) -> Verdict:
    """Every shard done, none dead, and in the last import nothing rejected."""
    reports = [report for done in imports for report in done.reports.values()]
    unfinished = [json.dumps(each["shards"]) for each in (*reports, *windows) if set(each["shards"]) != {"done"}]
    rejected = sum(report["rejected"] for report in imports[-1].reports.values())
    found = "; then ".join(
        f"{done.seconds:.0f} s: "
        + ", ".join(
            f"{sum(report[what] for report in done.reports.values()):,} {what}"
            for what in ("added", "changed", "removed")
        )
        for done in imports
    )
    return Verdict(
        "every shard is done",
        not unfinished and not rejected,
        f"{found}; {len(windows)} imports of windows",
        {"windows": len(windows), "rejected": rejected, "requests": sum(each["requests"] for each in reports)},
        unfinished[:_EXAMPLES],
    )


def check_workers(logs: Sequence[Path], deserters: Sequence[str]) -> Verdict:
    said: Counter[str] = Counter()
    defects: list[str] = [f"{name} ended by itself, or badly" for name in deserters]
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if _FORGOTTEN in line and "connection_lost" in line:
                continue
            if '"level": "error"' in line or "Traceback" in line:
                defects.append(f"{log.name}: {line[:300]}")
            elif '"level": "warning"' in line:
                said[str(json.loads(line).get("error") or json.loads(line)["event"])] += 1
    warnings = ", ".join(f"{count} {what}" for what, count in said.most_common())
    return Verdict(
        "no worker met a defect",
        not defects,
        f"{len(logs)} processes; warnings: {warnings or 'none'}",
        {"processes": len(logs), "defects": len(defects)},
        defects[:_EXAMPLES],
    )
