"""Both imports ended, and no worker met a defect or left."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from drills.importing.imports import Done
from drills.importing.verdicts import Verdict

_EXAMPLES = 5


def check_imports(first: Done, second: Done) -> Verdict:
    """Every shard done, none dead; and the second had something to find, or nothing was tried."""
    shards = [done.report["shards"] for done in (first, second)]
    kept = all(set(each) == {"done"} for each in shards) and not second.report["rejected"]
    found = "; then ".join(
        f"{done.seconds:.0f} s, {sum(done.report['shards'].values())} shards, {done.report['added']:,} added,"
        f" {done.report['changed']:,} changed, {done.report['removed']:,} removed"
        for done in (first, second)
    )
    figures = {"seconds": first.seconds, "seconds_again": second.seconds}
    return Verdict("every shard is done", kept, found, figures, [] if kept else [json.dumps(shards)])


def check_workers(logs: Sequence[Path], deserters: Sequence[str]) -> Verdict:
    said: Counter[str] = Counter()
    defects: list[str] = [f"{name} ended by itself, or badly" for name in deserters]
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
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
